#pragma once

#include <optional>

#include "http3/error.h"
#include "http3/session_event.h"

namespace sheaf::http3 {

// Serves or sends requests over one connection. This is what HTTP/3 and hq-interop have in common,
// so that their owner treats both alike. It does no I/O: the events of the connection drive it, and
// `poll_event` returns its own events. No call invokes a callback.
class RequestSession {
 public:
  virtual ~RequestSession() = default;

  // --- driven by the connection -------------------------------------------------------------
  // Must be called once, as soon as the connection can send application data (0-RTT or 1-RTT).
  virtual void start(Time now) = 0;
  virtual void on_event(const quic::Event& event, Time now) = 0;
  virtual std::optional<SessionEvent> poll_event() = 0;

  // --- messages -----------------------------------------------------------------------------
  // Client: sends a request. Without a body, the request ends after its fields.
  virtual quic::Result<StreamId, Refusal> submit_request(const FieldSection& fields,
                                                         bool has_body) = 0;
  // Server: sends a 1xx response. Any number of them may precede the final response.
  virtual quic::Status<Refusal> submit_informational(StreamId stream,
                                                     const FieldSection& fields) = 0;
  virtual quic::Status<Refusal> submit_response(StreamId stream, const FieldSection& fields,
                                                bool has_body) = 0;
  // Accepts the whole chunk without copying it, and releases it once it is acknowledged. `false`
  // asks the caller to wait for BodyWritable before the next chunk.
  virtual quic::Result<bool, Refusal> write_body(StreamId stream, SendChunk chunk, bool fin) = 0;
  // Reserves room for the next chunk until it is written, and returns its size in bytes. 0 asks the
  // caller to wait for BodyWritable.
  virtual std::size_t reserve_body(StreamId stream) = 0;
  // Sends trailers, which end the message.
  virtual quic::Status<Refusal> submit_trailers(StreamId stream, const FieldSection& fields) = 0;

  // Returns the next contiguous bytes of the body without copying them. They are valid until the
  // next call. The peer gets flow control credit only for bytes that were consumed.
  virtual Bytes peek_body(StreamId stream) const = 0;
  virtual void consume_body(StreamId stream, std::size_t bytes, Time now) = 0;
  // These two copy across the pieces in which the body arrived. `readable_body` is never less than
  // what `read_body` returns, and is 0 only when that returns 0. BodyReadable is repeated only
  // after everything was read.
  virtual std::size_t readable_body(StreamId stream) const = 0;
  virtual std::size_t read_body(StreamId stream, quic::MutableBytes out, Time now) = 0;

  // --- ending -------------------------------------------------------------------------------
  // Asks the peer not to send the rest of its message (STOP_SENDING).
  virtual void stop_reading(StreamId stream, std::uint64_t error) = 0;
  // Cancels both directions.
  virtual void reset(StreamId stream, std::uint64_t error) = 0;
  // Overrides the priority that the peer asked for (RFC 9218 §8).
  virtual void set_priority(StreamId stream, const StreamPriority& priority) = 0;
  // Announces a shutdown while it still serves new requests. `shut_down` follows by itself after a
  // round trip (RFC 9114 §5.2).
  virtual void announce_shutdown() = 0;
  // Serves the requests that have arrived and refuses all later ones.
  virtual void shut_down() = 0;
  virtual std::size_t open_requests() const = 0;
  virtual void close(ErrorCode code, std::string_view reason, Time now) = 0;
};

}  // namespace sheaf::http3
