#pragma once

#include <memory>
#include <vector>

#include "io/endpoint_loop.h"
#include "tunnel_node/target_side.h"
#include "tunnel_request/tunnel_request.h"

namespace sheaf::tunnel_node {

class TunnelEnds;

// A tunnel of a client with HTTP/3: its request with the socket to its target. Belongs to a
// connection of a loop, and is destroyed before the connection's HTTP session.
class TunnelEnd final : private TargetSide::ClientSide,
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
  static quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> open(
      const Place& place, Outlet outlet, const TunnelSettings& settings, Time now);
  ~TunnelEnd() { side_.leave(); }

  tunnel_request::TunnelRequest& request() { return request_; }
  const tunnel_request::TunnelRequest& request() const { return request_; }
  // Of an open tunnel
  const quic::Address& local_address() const { return side_.local_address(); }
  TunnelOver reason() const { return reason_; }
  // Returns the newest report of the proxy. There must be one.
  quic::Bytes take_report() {
    report_waits_ = false;
    return report_;
  }
  void on_connection_closed();
  // Does what followed from events and datagrams of the client.
  void on_turn(Time now);
  // Takes a packet that the target has sent, which did not come by a socket of this tunnel's own.
  void receive(const tunnel::Packet& packet, Time now) {
    side_.note_packet(now);
    request_.send(packet, now);
  }
  // Follows the packets of `receive` that came together.
  void on_burst_end() override;
  // The local port is closed.
  void close() { end(TunnelOver::kClosed); }

 private:
  friend class TunnelEnds;

  TunnelEnd(const Place& place, Outlet outlet, const TunnelSettings& settings, Time now);
  // TargetSide::ClientSide
  tunnel::Counts& counts() override { return request_.counts(); }
  void on_packet(const tunnel::Packet& packet, Time now) override { request_.send(packet, now); }
  void on_unreachable() override;
  void end(TunnelOver reason) override;
  void release_spare() override { request_.release_spare(); }
  // TunnelRequest::Target
  void send(const tunnel::Packet& packet) override { side_.send(packet); }
  void on_report(quic::Bytes report) override;
  void want_turn() override;

  // Has the connection send what its tunnels have queued.
  void wake_if_queued();

  Place place_;
  TargetSide side_;
  bool wants_turn_ = false;
  bool told_over_ = false;
  bool unreachable_ = false;
  bool report_waits_ = false;
  std::vector<std::uint8_t> report_;
  TunnelOver reason_ = TunnelOver::kClient;
  tunnel_request::TunnelRequest request_;  // last: it may call this object at once
};

}  // namespace sheaf::tunnel_node
