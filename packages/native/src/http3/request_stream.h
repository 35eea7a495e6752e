#pragma once

#include "http3/field_section.h"
#include "http3/request_admission.h"
#include "http3/transport.h"
#include "http3/varint_accumulator.h"
#include "util/ring.h"

namespace sheaf::http3 {

// The state of one request stream in its session. The body of a message is never stored here: on
// its way in it stays in the transport's buffer, and on its way out chunks are handed on as they
// are.
struct RequestStream {
  // --- the peer's message -----------------------------------------------------------------
  enum class Position : std::uint8_t {
    kFrameHeader,  // type and length of the next frame
    kBody,         // payload of DATA: waits for the application
    kOtherFrame,   // payload of any other frame: goes to `MessageFraming` at once
    kHandedOver,   // is a WebTransport stream, no request
  };
  RequestAdmission::Place place = RequestAdmission::Place::kNew;
  Position position = Position::kFrameHeader;
  TypeLengthAccumulator frame_header;
  std::uint64_t frame_left = 0;  // payload bytes to come
  bool first_frame = true;
  // QPACK waits for its table to grow (RFC 9204 §2.1.2): bytes that it has not used, and bytes that
  // stay in the transport until then, so that the stream cannot end or gain credit before.
  std::size_t blocked_bytes = 0;
  std::size_t held_bytes = 0;
  bool cancelled = false;      // by the peer
  bool reading_done = false;   // end, reset, error, or nobody wants the rest
  bool lost = false;           // its backend is gone: what arrived is all there is
  bool message_begun = false;  // request or final response fields have come
  // A request with `:protocol` (RFC 9220), whose protocol may give datagrams a meaning.
  bool extended_connect = false;
  unsigned interim_responses = 0;  // 1xx, so far
  bool readable_announced = false;
  FieldSection fields;  // of the HEADERS frame that is being decoded
  bool fields_too_large = false;

  // --- our message ------------------------------------------------------------------------
  enum class Writing : std::uint8_t { kNotBegun, kBody, kEnded };
  Writing writing = Writing::kNotBegun;
  bool own_request = false;  // this side sent the request
  bool answered = false;     // by a final response, whoever gave it

  // It is known what the request is.
  bool head_known() const { return own_request || message_begun; }
  quic::Ring<SendChunk> chunks;   // not yet taken by the transport
  std::size_t chunks_framed = 0;  // of these, the first so many are in a DATA frame already
  bool transport_full = false;
  bool wants_writable = false;

  std::uint64_t close_error = 0;  // why it ended early; 0: it did not
};

}  // namespace sheaf::http3
