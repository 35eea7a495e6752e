#pragma once

#include <unordered_map>
#include <vector>

#include "http3/session.h"
#include "util/ring.h"
#include "webtransport/event.h"
#include "webtransport/session_table.h"

namespace sheaf::webtransport {

// Handles the streams of a connection's WebTransport sessions, including those that wait for their
// session to be accepted. All arguments of the constructor must outlive this object.
class SessionStreams {
 public:
  SessionStreams(http3::Session& http, SessionTable& sessions, quic::Ring<Event>& events,
                 std::size_t max_waiting)
      : http_(http), sessions_(sessions), events_(events), max_waiting_(max_waiting) {}

  // --- for the application: as in Connection, with the application's error codes ---------------
  quic::Result<StreamId, quic::StreamRefusal> open(StreamId session,
                                                   quic::Directionality direction);
  quic::Result<bool, quic::StreamRefusal> write(StreamId stream, quic::SendChunk chunk, bool fin);
  std::uint64_t readable_bytes(StreamId stream) const {
    return http_.transport().readable_bytes(stream);
  }
  Bytes peek(StreamId stream) const { return http_.transport().peek(stream); }
  quic::Result<quic::ReadResult, quic::StreamRefusal> read(StreamId stream, quic::MutableBytes out,
                                                           quic::Time now) {
    return http_.transport().read(stream, out, now);
  }
  quic::Result<quic::ReadResult, quic::StreamRefusal> consume(StreamId stream, std::size_t bytes,
                                                              quic::Time now);
  void reset(StreamId stream, std::uint32_t error);
  void stop_sending(StreamId stream, std::uint32_t error);

  // --- for the set of sessions ------------------------------------------------------------------
  void on_opened(const http3::WebTransportStreamOpened& opened);
  void on_event(const quic::StreamEvent& event, quic::Time now);
  // Accepts or refuses the streams that waited for the session, whose fate is known now.
  void release_waiting(StreamId session);
  // Resets all streams of a session that is closed.
  void reset_all(Session& session);

 private:
  struct Stream {
    StreamId session;
    std::uint64_t prefix = 0;  // bytes that this side wrote before the application's
    bool finished = false;     // the end came with the prefix, and the application has not seen it
    bool closed = false;       // the transport has forgotten the stream in the meantime
  };

  // Returns whether the session's CONNECT request may still arrive, since streams can overtake it.
  bool may_come(StreamId session) const;
  void add(Session& session, const http3::WebTransportStreamOpened& opened);
  void refuse(StreamId stream, std::uint64_t error);
  void forget(StreamId stream);
  // Handles an event of a stream that still waits for its session, or was refused.
  void on_unused(const quic::StreamEvent& event, quic::Time now);
  // Returns whether the stream belongs to a session that is open.
  bool usable(StreamId stream);

  http3::Session& http_;
  SessionTable& sessions_;
  quic::Ring<Event>& events_;
  std::size_t max_waiting_;
  std::unordered_map<StreamId, Stream> streams_;
  std::vector<http3::WebTransportStreamOpened> waiting_;
};

}  // namespace sheaf::webtransport
