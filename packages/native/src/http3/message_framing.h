#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>

#include "http3/error.h"
#include "http3/field_section.h"
#include "http3/settings.h"
#include "http3/transport.h"

struct nghttp3_conn;

namespace sheaf::http3 {

// HTTP/3 messages on request streams and QPACK: a narrow face of nghttp3, which checks the messages
// (RFC 9114 §4.1 to §4.3) and compresses the fields. Its control stream stays unused: nghttp3 1.8
// knows neither WebTransport's SETTINGS nor a way to add them.
//
// After the first ConnectionError only the destructor may be called.
class MessageFraming {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_field(StreamId stream, const Field& field) = 0;
    // HEADERS is complete. `trailers`: it came after the body.
    virtual void on_fields_end(StreamId stream, bool trailers) = 0;
    // Bytes that `read` did not count were used after all (RFC 9204 §2.2.1).
    virtual void on_unblocked(StreamId stream, std::size_t bytes) = 0;
    // The message breaks a rule of HTTP: cancel the stream, not the connection.
    virtual void on_message_error(StreamId stream, std::uint64_t error) = 0;
    // Chunks to send next, up to the span's size; `end`: no more will follow them. None and not the
    // end: ask again after `resume`.
    virtual std::size_t next_body(StreamId stream, std::span<Bytes> chunks, bool& end) = 0;
  };

  MessageFraming(Role role, const Settings& local, Listener& listener);
  ~MessageFraming();

  void bind_qpack_streams(StreamId encoder, StreamId decoder);
  bool bound() const { return bound_; }
  // Once. `control_stream` is the peer's.
  ConnectionStatus apply_peer_settings(StreamId control_stream, const Settings& settings);

  // Request streams and the peer's QPACK streams (these with their stream type). Returns how many
  // bytes were used; fewer than given means that the stream waits for QPACK and the rest is kept.
  // Payload of DATA frames is checked and does not count.
  quic::Result<std::size_t, ConnectionError> read(StreamId stream, Bytes bytes, bool fin);

  // kUnknownStream, or kWrongState where the message is further than that already: nothing has
  // happened then.
  quic::Status<Refusal> submit_request(StreamId stream, const FieldSection& fields, bool has_body);
  quic::Status<Refusal> submit_informational(StreamId stream, const FieldSection& fields);
  quic::Status<Refusal> submit_response(StreamId stream, const FieldSection& fields, bool has_body);
  quic::Status<Refusal> submit_trailers(StreamId stream, const FieldSection& fields);

  // Bytes to write next; part of them are chunks given by `next_body`, the others are valid until
  // `on_written`.
  struct Output {
    StreamId stream;
    std::array<Bytes, 16> parts;
    std::size_t part_count = 0;
    bool fin = false;
  };
  // False when there is nothing to write.
  quic::Result<bool, ConnectionError> poll_output(Output& output);
  // All of it was written, and what is not a body chunk was copied.
  void on_written(const Output& output);
  void block(StreamId stream);
  void unblock(StreamId stream);
  void resume(StreamId stream);  // `next_body` has something

  // Fails when the peer does not let our QPACK decoder stream get rid of its cancellations.
  ConnectionStatus shut_reading(StreamId stream);
  void shut_writing(StreamId stream);
  void close_stream(StreamId stream, std::uint64_t error);

  // Server: what the request's Priority field asks for.
  StreamPriority priority(StreamId stream) const;
  // Keeps nghttp3's own order in step with ours.
  void set_priority(StreamId stream, const StreamPriority& priority);

  static bool valid(const Field& field);
  // RFC 9218 §4; nothing when it is not a structured field.
  static std::optional<StreamPriority> parse_priority(Bytes value);

 private:
  struct Callbacks;
  nghttp3_conn* connection_ = nullptr;
  Listener& listener_;
  Role role_;
  bool bound_ = false;
};

}  // namespace sheaf::http3
