#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "http3/message_framing.h"
#include "http3/request_stream.h"
#include "http3/session_config.h"
#include "http3/session_event.h"
#include "util/ring.h"
#include "util/token_bucket.h"

namespace sheaf::http3 {

// Holds the state that the parts of an HTTP/3 session share. The transport must outlive it.
struct SessionParts {
  SessionParts(Transport& transport_below, const SessionConfig& session_config,
               MessageFraming::Listener& listener);

  // Returns null when there is no such request.
  RequestStream* find(StreamId id);
  const RequestStream* find(StreamId id) const;
  // Server: returns whether a request on this stream is being served or may still arrive.
  bool request_open_or_to_come(StreamId id) const;
  // Ends both directions of a message, and drops what was not sent or read.
  void abandon(StreamId id, RequestStream& stream, std::uint64_t error);
  void end_writing(StreamId id, RequestStream& stream);
  // Reads bytes that nobody wants, since the connection's flow control counts them.
  void discard(StreamId id);
  // Counts a request that the peer cancelled. When there are too many, closes the connection and
  // returns false.
  bool count_cancellation(RequestStream& stream);
  // Hands a WebTransport stream of the peer over to the layer above.
  void hand_over(StreamId id, StreamId session, bool finished);
  // Closes the connection.
  void fail(const ConnectionError& error);

  Transport& transport;
  const SessionConfig config;
  MessageFraming framing;
  RequestAdmission admission;
  Time now{};  // time of the latest call
  bool closed = false;
  bool cancellations_bounded = true;  // server
  quic::Ring<SessionEvent> events;
  std::unordered_map<StreamId, RequestStream> requests;
  std::unordered_set<StreamId> handed_over;
  std::optional<Settings> peer_settings;
  std::uint64_t next_unopened = 0;  // server: the lowest id that has not been opened

 private:
  quic::TokenBucket cancellations_;
};

}  // namespace sheaf::http3
