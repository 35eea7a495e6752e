#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/endpoint_loop.h"
#include "tunnel_node/tunnel_node.h"
#include "tunnel_request/tunnel_request.h"

namespace sheaf::tunnel_node {

class TunnelEnds;

struct TunnelSettings {
  quic::Address target;
  Duration idle = std::chrono::minutes(2);  // RFC 9298 §3.1: not less
  std::size_t queue_limit = 256 << 10;      // bytes
  // All tunnels with the same name share a rate in bytes per second. An empty name: no limit.
  std::string rate_name;
  double rate = 0;
};

// Why a tunnel is over. Names are in lib/tunnel_types.ts, in the same order.
enum class TunnelOver : std::uint8_t {
  kClient,       // the client ended it, or broke a rule
  kConnection,   // with the connection
  kIdle,         // no packet came for as long as the limit permits
  kUnreachable,  // the network says that the target cannot be reached
};

// A tunnel: the request of a client with the socket to its target. Belongs to a connection of a
// loop, and is destroyed before the connection's HTTP session.
class TunnelEnd final : private io::PollGroup::Member,
                        private tunnel_request::TunnelRequest::Target {
 public:
  // All must outlive the end.
  struct Place {
    TunnelNode& node;
    TunnelEnds& ends;
    io::EndpointLoop& loop;
    quic::ConnectionDriver& driver;
    http3::Session& session;
    quic::StreamId stream;
    tunnel_request::SharedWay& way;
  };

  static quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> open(
      const Place& place, const TunnelSettings& settings, Time now);
  ~TunnelEnd();

  tunnel_request::TunnelRequest& request() { return request_; }
  const tunnel_request::TunnelRequest& request() const { return request_; }
  // Of an open tunnel
  const quic::Address& local_address() const { return socket_->local_address(); }
  TunnelOver reason() const { return reason_; }
  void on_connection_closed();
  // Does what followed from events and datagrams of the client.
  void on_turn(Time now);

 private:
  friend class TunnelNode;
  friend class TunnelEnds;

  TunnelEnd(const Place& place, std::unique_ptr<io::ConnectedSocket> socket,
            const TunnelSettings& settings, Time now);
  // io::PollGroup::Member
  void on_readable() override;
  // TunnelRequest::Target
  void send(quic::Bytes payload) override;
  void want_turn() override;

  // A packet of the target came.
  void receive(quic::Bytes payload, Time now);
  void on_sent(const io::ConnectedSocket::Sent& sent);
  // Has the connection send what its tunnels have queued.
  void wake_if_queued();
  void end(TunnelOver reason);
  void check_idle(Time now);

  Place place_;
  std::unique_ptr<io::ConnectedSocket> socket_;  // null once the tunnel is over
  std::shared_ptr<tunnel::RateBudget> budget_;   // null without a limit
  Duration idle_;
  Time active_at_;         // when a packet came last, in either direction
  std::size_t index_ = 0;  // in the node
  bool listening_ = false;
  bool wants_turn_ = false;
  bool told_over_ = false;
  bool unreachable_ = false;
  TunnelOver reason_ = TunnelOver::kClient;
  tunnel_request::TunnelRequest request_;  // last: it may call this object at once
};

}  // namespace sheaf::tunnel_node
