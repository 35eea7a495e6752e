#pragma once

#include <vector>

#include "http3/session_parts.h"

namespace sheaf::http3 {

// Passes the messages of this side, from fields and chunks, to the transport. `parts` must outlive
// this object.
class RequestWriter {
 public:
  explicit RequestWriter(SessionParts& parts) : parts_(parts) {}

  // --- as in RequestSession ---------------------------------------------------------------------
  quic::Result<StreamId, Refusal> submit_request(const FieldSection& fields, bool has_body);
  quic::Status<Refusal> submit_informational(StreamId id, const FieldSection& fields);
  quic::Status<Refusal> submit_response(StreamId id, const FieldSection& fields, bool has_body);
  quic::Result<bool, Refusal> write_body(StreamId id, SendChunk chunk, bool fin);
  std::size_t reserve_body(StreamId id);
  quic::Status<Refusal> submit_trailers(StreamId id, const FieldSection& fields);

  // --- as in Session ----------------------------------------------------------------------------
  quic::Status<Refusal> hand_off(StreamId id, Bytes head, std::optional<std::uint64_t> body_length,
                                 std::uint64_t begun);
  quic::Result<bool, Refusal> write_instead(StreamId id, std::uint64_t offset, SendChunk chunk,
                                            bool fin);

  // Client: the peer accepts no further requests.
  void stop_requests() { requests_stopped_ = true; }
  // Implements MessageFraming::Listener::next_body.
  std::size_t next_body(StreamId id, std::span<Bytes> chunks, bool& end);
  void on_writable(StreamId id);
  // Passes on everything that the transport has room for.
  void write_pending();

 private:
  quic::Status<Refusal> check(const FieldSection& fields) const;
  void write_output(const MessageFraming::Output& output);
  void write_part(StreamId id, SendChunk chunk, bool fin);
  quic::Status<Refusal> replace_begun(StreamId id, Bytes framed, std::uint64_t end,
                                      std::uint64_t begun);

  SessionParts& parts_;
  bool requests_stopped_ = false;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace sheaf::http3
