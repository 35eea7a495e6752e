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

// Frames HTTP/3 messages on request streams and compresses their fields with QPACK. This is a
// narrow interface to nghttp3, which also checks the messages (RFC 9114 §4.1 to §4.3). The control
// stream of nghttp3 stays unused, because version 1.8 neither knows WebTransport's SETTINGS nor
// lets the caller add them.
//
// After the first ConnectionError only the destructor may be called.
class MessageFraming {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_field(StreamId stream, const Field& field) = 0;
    // Reports the end of a field section. `trailers` is true when it came after the body.
    virtual void on_fields_end(StreamId stream, bool trailers) = 0;
    // Reports bytes that `read` did not count and that have been used since (RFC 9204 §2.2.1).
    virtual void on_unblocked(StreamId stream, std::size_t bytes) = 0;
    // Reports a message that breaks a rule of HTTP, which costs the stream and not the connection.
    virtual void on_message_error(StreamId stream, std::uint64_t error) = 0;
    // Fills `chunks` with the next chunks of the body, and returns their number. `end` becomes true
    // when nothing follows them. After a return of 0 without `end`, nghttp3 asks again only once
    // `resume` was called.
    virtual std::size_t next_body(StreamId stream, std::span<Bytes> chunks, bool& end) = 0;
  };

  MessageFraming(Role role, const Settings& local, Listener& listener);
  ~MessageFraming();

  void bind_qpack_streams(StreamId encoder, StreamId decoder);
  bool bound() const { return bound_; }
  // Must be called only once. `control_stream` is the peer's.
  ConnectionStatus apply_peer_settings(StreamId control_stream, const Settings& settings);

  // Reads from a request stream, or from one of the peer's QPACK streams, whose bytes begin with
  // the stream type. Returns how many bytes were used. Fewer than were given means that the stream
  // waits for QPACK and that the rest is kept. Payload of DATA frames is checked but not counted.
  quic::Result<std::size_t, ConnectionError> read(StreamId stream, Bytes bytes, bool fin);

  // Fails with kUnknownStream, or with kWrongState when the message is already past this point.
  // Nothing has changed then.
  quic::Status<Refusal> submit_request(StreamId stream, const FieldSection& fields, bool has_body);
  quic::Status<Refusal> submit_informational(StreamId stream, const FieldSection& fields);
  quic::Status<Refusal> submit_response(StreamId stream, const FieldSection& fields, bool has_body);
  quic::Status<Refusal> submit_trailers(StreamId stream, const FieldSection& fields);

  // Holds the bytes to write next. Chunks from `next_body` stay the application's; all other bytes
  // are valid until `on_written`.
  struct Output {
    StreamId stream;
    std::array<Bytes, 16> parts;
    std::size_t part_count = 0;
    bool fin = false;
  };
  // Returns false when there is nothing to write.
  quic::Result<bool, ConnectionError> poll_output(Output& output);
  // Must be called once all bytes of `output` were written, and those that are no body chunks were
  // copied.
  void on_written(const Output& output);
  void block(StreamId stream);
  void unblock(StreamId stream);
  void resume(StreamId stream);  // `next_body` has chunks again

  // Fails when the peer's flow control leaves no room for the stream cancellations of QPACK, and
  // too many of them wait.
  ConnectionStatus shut_reading(StreamId stream);
  void shut_writing(StreamId stream);
  void close_stream(StreamId stream, std::uint64_t error);

  // Returns the priority that the request's Priority field asks for; server only.
  StreamPriority priority(StreamId stream) const;
  // Tells nghttp3 about a priority, so that its order of streams agrees with the transport's.
  void set_priority(StreamId stream, const StreamPriority& priority);

  static bool valid(const Field& field);
  // Parses a Priority field (RFC 9218 §4). Returns nothing when the text is no structured field.
  static std::optional<StreamPriority> parse_priority(Bytes value);

 private:
  struct Callbacks;
  nghttp3_conn* connection_ = nullptr;
  Listener& listener_;
  Role role_;
  bool keeps_fields_;  // the table of the peer's fields has room
  bool bound_ = false;
};

}  // namespace sheaf::http3
