#pragma once

#include <optional>

#include "http3/error.h"
#include "http3/session_event.h"

namespace sheaf::http3 {

// Requests and responses over one connection: what HTTP/3 and hq-interop have in common, so that
// their owner handles both in one way. Sans-IO: driven by the connection's events, asked for its
// own with `poll_event`. No call calls back.
class RequestSession {
 public:
  virtual ~RequestSession() = default;

  // --- driven by the connection -------------------------------------------------------------
  // Once, as soon as the connection can send application data (0-RTT or 1-RTT).
  virtual void start(Time now) = 0;
  virtual void on_event(const quic::Event& event, Time now) = 0;
  virtual std::optional<SessionEvent> poll_event() = 0;

  // --- messages -----------------------------------------------------------------------------
  // Client. Without a body the request ends with its fields.
  virtual quic::Result<StreamId, Refusal> submit_request(const FieldSection& fields,
                                                         bool has_body) = 0;
  // Server: any number of 1xx responses, then one final response.
  virtual quic::Status<Refusal> submit_informational(StreamId stream,
                                                     const FieldSection& fields) = 0;
  virtual quic::Status<Refusal> submit_response(StreamId stream, const FieldSection& fields,
                                                bool has_body) = 0;
  // Takes the chunk whole, without a copy; it is released once acknowledged. `false`: taken, but
  // wait for BodyWritable before the next one.
  virtual quic::Result<bool, Refusal> write_body(StreamId stream, SendChunk chunk, bool fin) = 0;
  // How large a chunk to write next, kept free until it is written; 0: wait for BodyWritable.
  virtual std::size_t reserve_body(StreamId stream) = 0;
  // Ends the body and the message.
  virtual quic::Status<Refusal> submit_trailers(StreamId stream, const FieldSection& fields) = 0;

  // Next contiguous bytes of the body, without a copy; valid until the next call. The peer's flow
  // control credit grows only as they are consumed.
  virtual Bytes peek_body(StreamId stream) const = 0;
  virtual void consume_body(StreamId stream, std::size_t bytes, Time now) = 0;
  // The same with a copy, across the pieces in which the body came. `readable_body` is at least
  // what `read_body` gives, and 0 only if that gives nothing. BodyReadable comes again once
  // everything was read.
  virtual std::size_t readable_body(StreamId stream) const = 0;
  virtual std::size_t read_body(StreamId stream, quic::MutableBytes out, Time now) = 0;

  // --- ending -------------------------------------------------------------------------------
  // Asks the peer not to send the rest of its message (STOP_SENDING).
  virtual void stop_reading(StreamId stream, std::uint64_t error) = 0;
  // Cancels both directions.
  virtual void reset(StreamId stream, std::uint64_t error) = 0;
  // Overrides what the peer asked for (RFC 9218 §8).
  virtual void set_priority(StreamId stream, const StreamPriority& priority) = 0;
  // Tells the peer that the end is near, still serving what comes; after a round trip `shut_down`
  // follows by itself (RFC 9114 §5.2).
  virtual void announce_shutdown() = 0;
  // Serves what has come so far and refuses the rest.
  virtual void shut_down() = 0;
  virtual std::size_t open_requests() const = 0;
  virtual void close(ErrorCode code, std::string_view reason, Time now) = 0;
};

}  // namespace sheaf::http3
