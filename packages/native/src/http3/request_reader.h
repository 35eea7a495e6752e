#pragma once

#include <unordered_map>
#include <vector>

#include "http3/session_parts.h"

namespace sheaf::http3 {

// Turns the bytes of request streams into events. `parts` must outlive this object.
class RequestReader {
 public:
  explicit RequestReader(SessionParts& parts) : parts_(parts) {}

  void read(StreamId id, RequestStream& stream);
  void on_reset(StreamId id, std::uint64_t error);

  // --- bodies, as in RequestSession -------------------------------------------------------------
  Bytes peek_body(StreamId id) const;
  void consume_body(StreamId id, std::size_t count);
  std::size_t readable_body(StreamId id) const;
  std::size_t read_body(StreamId id, quic::MutableBytes out);

  // --- findings of nghttp3, as in MessageFraming::Listener --------------------------------------
  void on_field(StreamId id, const Field& field);
  void on_fields_end(StreamId id, bool trailers);
  void on_unblocked(StreamId id, std::size_t bytes);
  void on_message_error(StreamId id, std::uint64_t error);
  // Acts on these findings once the transport's bytes are no longer being read.
  void after_framing_read();

  // --- requests that have not arrived -----------------------------------------------------------
  void prioritize(StreamId id, const StreamPriority& priority);
  // Refuses all requests that have not arrived, and returns the first id that is refused.
  std::uint64_t refuse_rest();
  void refuse_all() { refused_from_ = 0; }
  bool refusing() const { return refused_from_ != quic::k_max_varint; }

 private:
  bool admitted(StreamId id, RequestStream& stream);
  std::size_t read_frame_header(StreamId id, RequestStream& stream, Bytes bytes);
  void begin_frame(StreamId id, RequestStream& stream);
  std::size_t read_frame_payload(StreamId id, RequestStream& stream, Bytes bytes);
  std::size_t read_data_frame(StreamId id, quic::MutableBytes out);
  void finish(StreamId id, RequestStream& stream);
  // Returns false when the connection has failed.
  bool feed(StreamId id, RequestStream& stream, Bytes bytes, bool fin);

  SessionParts& parts_;
  std::uint64_t next_request_ = 0;                   // server: the lowest id that has not begun
  std::uint64_t refused_from_ = quic::k_max_varint;  // server, after `refuse_rest`
  // A PRIORITY_UPDATE may overtake its request (RFC 9218 §7).
  std::unordered_map<StreamId, StreamPriority> early_priorities_;
  // Findings of nghttp3 for `after_framing_read`.
  std::vector<StreamId> begun_requests_;
  std::vector<StreamId> broken_messages_;
  std::vector<StreamId> unblocked_;
};

}  // namespace sheaf::http3
