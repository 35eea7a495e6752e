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
  // Streams that arrive before their session is accepted wait, up to this number per connection
  // (draft-ietf-webtrans-http3-02 §4.5). A stream's bytes wait in the transport's window.
  std::size_t max_waiting_streams = 64;
};

// WebTransport sessions of one HTTP/3 connection, either role: draft-ietf-webtrans-http3-02 as
// Chromium speaks it and what came after, up to draft 16 without flow control. Sans-IO: takes
// events of the HTTP/3 session, which outlives it as the consumer of datagrams does, and is asked
// for its own.
class SessionSet {
 public:
  SessionSet(http3::Session& http, http3::DatagramConsumer& datagrams,
             const SessionSetConfig& config = {})
      : http_(http),
        streams_(http, sessions_, events_, config.max_waiting_streams),
        datagrams_(http, sessions_, events_, datagrams) {}
  // Its parts refer to each other.
  SessionSet(const SessionSet&) = delete;
  SessionSet& operator=(const SessionSet&) = delete;

  // Gives every event of the HTTP/3 session a chance. True: it belonged to a WebTransport session.
  // A request for a session is taken and comes back as SessionRequested, once the peer's SETTINGS
  // are here; one above the limit is reset with H3_REQUEST_REJECTED.
  bool on_event(http3::SessionEvent& event, quic::Time now);
  std::optional<Event> poll_event();

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
  // Anything else is about the connection or about plain requests.
  template <typename Other>
  bool handle(Other&, quic::Time) {
    return false;
  }

  // Another one may be opened beside those there are, of which the peer takes `limit`.
  bool room_for(Dialect dialect, std::size_t limit) const;
  void establish(StreamId id, Session& session);
  void read_capsules(StreamId id, Session& session, quic::Time now);
  // Both ends of a session's life come together here: it is told, then its streams are cut off.
  void end(StreamId id, Session& session, const SessionClosed& event);
  void finish(StreamId id, Session& session, const SessionClosed& event);

  http3::Session& http_;
  quic::Ring<Event> events_;
  SessionTable sessions_;
  SessionStreams streams_;
  SessionDatagrams datagrams_;
  std::vector<SessionRequested> unannounced_;  // until the peer's SETTINGS come
};

}  // namespace sheaf::webtransport
