#pragma once

#include "http3/field_section.h"
#include "http3/request_admission.h"
#include "http3/transport.h"
#include "http3/varint_accumulator.h"
#include "util/ring.h"

namespace sheaf::http3 {

// Holds the state of one request stream of a session. Bodies are never stored here. A received body
// stays in the transport's buffer, and chunks of a sent body are passed on without copying.
struct RequestStream {
  // --- the peer's message -----------------------------------------------------------------
  enum class Position : std::uint8_t {
    kFrameHeader,  // type and length of the next frame
    kBody,         // payload of DATA, which waits for the application
    kOtherFrame,   // payload of any other frame, which goes to `MessageFraming` at once
    kHandedOver,   // a WebTransport stream, which is no request
  };
  RequestAdmission::Place place = RequestAdmission::Place::kNew;
  Position position = Position::kFrameHeader;
  TypeLengthAccumulator frame_header;
  std::uint64_t frame_left = 0;  // payload bytes that have not arrived
  bool first_frame = true;
  // While QPACK waits for its table to grow (RFC 9204 §2.1.2): the bytes that it was given and has
  // not used, and the bytes that stay in the transport so that the stream neither ends nor gains
  // credit before.
  std::size_t blocked_bytes = 0;
  std::size_t held_bytes = 0;
  bool cancelled = false;      // the peer cancelled the request
  bool reading_done = false;   // the message ended, was reset or failed, or nobody reads the rest
  bool lost = false;           // its backend is gone, so nothing more will arrive
  bool message_begun = false;  // the fields of a request or of a final response have arrived
  // The request has `:protocol` (RFC 9220), and that protocol may give datagrams a meaning.
  bool extended_connect = false;
  unsigned interim_responses = 0;  // 1xx responses received
  bool readable_announced = false;
  FieldSection fields;  // the HEADERS frame that is being decoded
  bool fields_too_large = false;

  // --- our message ------------------------------------------------------------------------
  enum class Writing : std::uint8_t {
    kNotBegun,
    kBody,
    kElsewhere,  // another node sends the body
    kEnded
  };
  Writing writing = Writing::kNotBegun;
  bool padded = false;       // the end of a response of another node was written here
  bool own_request = false;  // this side sent the request
  bool answered = false;     // a final response was sent, whoever produced it

  // Returns true once the fields of the request are known.
  bool head_known() const { return own_request || message_begun; }
  quic::Ring<SendChunk> chunks;   // not yet handed to the transport
  std::size_t chunks_framed = 0;  // number of chunks, from the front, that a DATA frame already
                                  // covers
  bool transport_full = false;
  bool wants_writable = false;

  std::uint64_t close_error = 0;  // the reason for an early end; 0 when there was none
};

}  // namespace sheaf::http3
