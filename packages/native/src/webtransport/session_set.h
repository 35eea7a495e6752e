#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "http3/session.h"
#include "util/ring.h"
#include "webtransport/event.h"
#include "webtransport/session.h"

namespace sheaf::webtransport {

struct SessionSetConfig {
  // Streams that arrive before their session is accepted wait, up to this number per connection
  // (draft-ietf-webtrans-http3-02 §4.5). A stream's bytes wait in the transport's window.
  std::size_t max_waiting_streams = 64;
};

// WebTransport sessions of one HTTP/3 connection, either role: draft-ietf-webtrans-http3-02 as
// Chromium speaks it and what came after, up to draft 16 without flow control. Sans-IO: takes
// events of the HTTP/3 session, which outlives it as the consumer of datagrams does, and is asked
// for its own.
class SessionSet final : private http3::DatagramConsumer {
 public:
  SessionSet(http3::Session& http, http3::DatagramConsumer& datagrams,
             const SessionSetConfig& config = {})
      : http_(http), datagrams_(datagrams), config_(config) {}

  // Gives every event of the HTTP/3 session a chance. True: it belonged to a WebTransport session.
  // A request for a session is taken and comes back as SessionRequested, once the peer's SETTINGS
  // are here; one above the limit is reset with H3_REQUEST_REJECTED.
  bool on_event(http3::SessionEvent& event, quic::Time now);
  std::optional<Event> poll_event();

  // --- sessions -----------------------------------------------------------------------------
  // Client: `fields` have :authority, :path, origin and what else the application wants; kNotReady
  // before the peer's SETTINGS, kNotSupported when it does not speak WebTransport, kStreamLimit
  // while it takes no more sessions.
  quic::Result<StreamId, http3::Refusal> connect(const http3::FieldSection& fields);
  // Server. `fields` go into the response beside the status.
  quic::Status<http3::Refusal> accept(StreamId session, const http3::FieldSection& fields,
                                      quic::Time now);
  quic::Status<http3::Refusal> reject(StreamId session, unsigned status);
  void drain(StreamId session);
  // Ends the session and all its streams. A longer reason than k_max_close_reason is cut.
  void close(StreamId session, const CloseInfo& info);

  // --- streams: as Connection's, with the application's error codes ---------------------------
  quic::Result<StreamId, quic::StreamRefusal> open_stream(StreamId session,
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
  void reset_stream(StreamId stream, std::uint32_t error);
  void stop_sending(StreamId stream, std::uint32_t error);

  // --- datagrams ----------------------------------------------------------------------------
  std::size_t max_datagram_payload(StreamId session) const;
  // As a capsule where the peer takes no datagrams (RFC 9297 §3.5). False when it is too large or
  // the queue is full: it has expired before it was sent. DatagramsWritable tells when there is
  // room again. `waits`: the caller keeps one that finds no room, and it has not expired.
  bool send_datagram(StreamId session, Bytes payload, bool waits = false);
  // Nothing for a session that is gone.
  std::optional<DatagramCounts> datagram_counts(StreamId session) const;

  std::size_t open_sessions() const { return sessions_.size(); }

 private:
  struct Stream {
    StreamId session;
    std::uint64_t prefix = 0;  // bytes that we wrote before the application's
    bool finished = false;     // the end came with the prefix; the application has yet to see it
    bool closed = false;       // the transport forgot it meanwhile
  };
  struct WaitingStream {
    StreamId stream;
    StreamId session;
    bool finished = false;
  };

  bool handle(http3::SettingsReceived& event, quic::Time now);
  bool handle(http3::RequestReceived& event, quic::Time now);
  bool handle(http3::ResponseReceived& event, quic::Time now);
  bool handle(http3::BodyReadable& event, quic::Time now);
  bool handle(http3::MessageFinished& event, quic::Time now);
  bool handle(http3::StreamReset& event, quic::Time now);
  bool handle(http3::WritingStopped& event, quic::Time now);
  bool handle(http3::StreamClosed& event, quic::Time now);
  bool handle(http3::BodyWritable& event, quic::Time now);
  bool handle(http3::DatagramsWritable& event, quic::Time now);
  bool handle(http3::DatagramOutcome& event, quic::Time now);
  bool handle(http3::WebTransportStreamOpened& event, quic::Time now);
  bool handle(http3::HandedOverStreamEvent& event, quic::Time now);
  // Anything else is about the connection or about plain requests.
  template <typename Other>
  bool handle(Other&, quic::Time) {
    return false;
  }

  void on_datagram(http3::HttpDatagram datagram) override;
  bool send_datagram_capsule(StreamId id, Session& session, Bytes payload);
  Session* find(StreamId session);
  // Another one may be opened beside those there are, of which the peer takes `limit`.
  bool room_for(Dialect dialect, std::size_t limit) const;
  void establish(StreamId id, Session& session);
  bool may_come(StreamId session) const;
  void read_capsules(StreamId id, Session& session, quic::Time now);
  void release_waiting(StreamId session);
  void add_stream(StreamId session, const WaitingStream& waiting);
  void refuse(StreamId stream, std::uint64_t error);
  void forget(StreamId stream);
  void on_waiting_stream_event(const quic::StreamEvent& event, quic::Time now);
  // Both ends of a session's life come together here: it is told, then its streams are cut off.
  void end(StreamId id, Session& session, const SessionClosed& event);
  void finish(StreamId id, Session& session, const SessionClosed& event);
  void reset_streams(Session& session);
  // A stream of a session that is open; null otherwise.
  const Stream* usable(StreamId stream) const;

  http3::Session& http_;
  http3::DatagramConsumer& datagrams_;
  SessionSetConfig config_;
  quic::Ring<Event> events_;
  std::unordered_map<StreamId, Session> sessions_;
  std::unordered_map<StreamId, Stream> streams_;
  std::vector<WaitingStream> waiting_streams_;
  std::vector<SessionRequested> unannounced_;  // until the peer's SETTINGS come
};

}  // namespace sheaf::webtransport
