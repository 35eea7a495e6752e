#pragma once

#include <optional>
#include <vector>

#include "http3/session.h"
#include "util/ring.h"
#include "webtransport/event.h"
#include "webtransport/session_datagrams.h"
#include "webtransport/session_streams.h"
#include "webtransport/session_table.h"

namespace sheaf::webtransport {

struct SessionSetConfig {
  // Maximum number of streams per connection that wait for their session to be accepted
  // (draft-ietf-webtrans-http3-02 §4.5). Their bytes wait in the transport's window.
  std::size_t max_waiting_streams = 64;
};

// Holds the WebTransport sessions of one HTTP/3 connection in either role. Speaks
// draft-ietf-webtrans-http3-02, as Chromium does, and the later drafts up to 16 without flow
// control. It does no I/O: events of the HTTP/3 session drive it, and `poll_event` returns its own
// events. The HTTP/3 session and the consumer of datagrams must outlive it.
class SessionSet {
 public:
  SessionSet(http3::Session& http, http3::DatagramConsumer& datagrams,
             const SessionSetConfig& config = {})
      : http_(http),
        streams_(http, sessions_, events_, config.max_waiting_streams),
        datagrams_(http, sessions_, events_, datagrams) {}
  // Not movable, because its parts refer to each other.
  SessionSet(const SessionSet&) = delete;
  SessionSet& operator=(const SessionSet&) = delete;

  // Must be called with every event of the HTTP/3 session. Returns true when the event belonged to
  // a WebTransport session. A request for a session becomes SessionRequested once the peer's
  // SETTINGS have arrived; one beyond the limit is reset with H3_REQUEST_REJECTED.
  bool on_event(http3::SessionEvent& event, quic::Time now);
  std::optional<Event> poll_event();

  // Client: requests a session. `fields` have :authority, :path, origin and any others that the
  // application wants. Fails with kNotReady before the peer's SETTINGS, with kNotSupported when the
  // peer does not speak WebTransport, and with kStreamLimit while it accepts no more sessions.
  quic::Result<StreamId, http3::Refusal> connect(const http3::FieldSection& fields);
  // Server: accepts a session. `fields` are added to the response.
  quic::Status<http3::Refusal> accept(StreamId session, const http3::FieldSection& fields,
                                      quic::Time now);
  quic::Status<http3::Refusal> reject(StreamId session, unsigned status);
  void drain(StreamId session);
  // Ends the session and all its streams. A reason longer than k_max_close_reason is cut.
  void close(StreamId session, const CloseInfo& info);
  std::size_t open_sessions() const { return sessions_.size(); }

  SessionStreams& streams() { return streams_; }
  SessionDatagrams& datagrams() { return datagrams_; }

 private:
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
  // Any other event concerns the connection or ordinary requests.
  template <typename Other>
  bool handle(Other&, quic::Time) {
    return false;
  }

  // Returns whether another session may be opened, when the peer accepts `limit` of them.
  bool room_for(Dialect dialect, std::size_t limit) const;
  void establish(StreamId id, Session& session);
  void read_capsules(StreamId id, Session& session, quic::Time now);
  // Ends a session, whichever side closed it: reports the end, then resets the streams.
  void end(StreamId id, Session& session, const SessionClosed& event);
  void finish(StreamId id, Session& session, const SessionClosed& event);

  http3::Session& http_;
  quic::Ring<Event> events_;
  SessionTable sessions_;
  SessionStreams streams_;
  SessionDatagrams datagrams_;
  std::vector<SessionRequested> unannounced_;  // sessions that wait for the peer's SETTINGS
};

}  // namespace sheaf::webtransport
