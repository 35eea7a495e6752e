#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "binding/datagram_batch.h"
#include "channel_node/channel_ends.h"
#include "endpoint/connection_driver.h"
#include "http3/connection_transport.h"
#include "http3/session.h"
#include "qlog/qlog_directory.h"
#include "switchboard/session_end.h"
#include "tunnel_node/tunnel_ends.h"
#include "webtransport/session_set.h"

namespace sheaf::binding {

// Holds a connection and the application protocol that ALPN chose for it.
class HostedConnection {
 public:
  // `logs` must outlive this object. Null disables logs.
  HostedConnection(std::uint32_t handle, quic::ConnectionDriver& driver, quic::Random& random,
                   const http3::SessionConfig& config, qlog::QlogDirectory* logs);
  ~HostedConnection();

  // Passes the transport's events to the session, and keeps those that concern the application.
  void drain(quic::Time now);
  std::optional<quic::Event> poll_connection_event();
  // Returns null until the application protocol is known.
  http3::RequestSession* session() { return session_.get(); }
  // Returns null unless the protocol is HTTP/3.
  http3::Session* http3() { return http3_; }
  // Returns null unless the protocol is HTTP/3 and WebTransport is announced.
  webtransport::SessionSet* sessions() { return sessions_.get(); }
  // Holds the datagrams of these sessions for JavaScript.
  DatagramBatch& datagrams() { return datagrams_; }
  // Refuses new requests from now on, even when the handshake is still pending.
  void announce_shutdown();
  // Makes a backend refuse new requests. `poll_drained` returns true once, when the last request
  // has finished and the primary has its credit back.
  void drain_requests();
  bool poll_drained();
  quic::ConnectionDriver& driver() { return driver_; }
  const quic::ConnectionDriver& driver() const { return driver_; }
  std::uint32_t handle() const { return handle_; }

  bool reported = false;  // JavaScript has received EstablishedEvent
  bool pending = false;   // is in the list of connections with events
  bool closed = false;
  bool multi_end_reported = false;
  // A session with another node of the site, if the connection carries one
  std::unique_ptr<switchboard::SessionEnd> node_session;
  // Requests of this connection that join channels
  channel_node::ChannelEnds channels;
  // Its requests for UDP proxying
  tunnel_node::TunnelEnds tunnels;
  bool paths_changed = false;  // a path was abandoned or has moved, so a socket may be unused

 private:
  void make_session(quic::Time now);
  void open_log();
  void keep(quic::Event event);

  std::uint32_t handle_;
  quic::ConnectionDriver& driver_;
  quic::Random& random_;
  http3::SessionConfig config_;
  http3::ConnectionTransport transport_;
  std::unique_ptr<http3::RequestSession> session_;
  http3::Session* http3_ = nullptr;
  DatagramBatch datagrams_;
  std::unique_ptr<webtransport::SessionSet> sessions_;
  bool shutting_down_ = false;
  std::deque<quic::Event> events_;
  qlog::QlogDirectory* logs_;
  std::unique_ptr<qlog::QlogFile> log_;
};

}  // namespace sheaf::binding
