#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/poll_group.h"
#include "io/udp_socket.h"
#include "tunnel_node/program_port.h"
#include "util/datagram_ring.h"

namespace sheaf::tunnel_node {

// A local port of which each peer gets a tunnel of its own. Here come only the first packets of a
// peer. Once it has its tunnel, a socket that is connected to it takes the others.
class LocalPort final : public ProgramPort, private io::PollGroup::Member {
 public:
  // Peers that wait for a tunnel at one time
  static constexpr std::size_t k_max_waiting_peers = 256;
  static constexpr std::size_t k_max_waiting_bytes = k_waiting_bytes;

  // Port 0 takes a free one. With the descriptor of a socket that is bound to the address, the port
  // uses this socket, which stays open after it.
  static quic::Result<std::unique_ptr<LocalPort>, io::SocketError> open(
      const Place& place, const quic::Address& address, std::optional<int> bound = std::nullopt);
  // Ends its tunnels, unless it has left them.
  ~LocalPort() override;

  // ProgramPort; its flows are peers.
  const quic::Address& address() const override { return socket_->local_address(); }
  std::vector<NewFlow> take_new() override { return std::exchange(new_, {}); }
  quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> open(FlowId peer,
                                                                 const TunnelEnd::Place& place,
                                                                 TunnelSettings settings,
                                                                 Time now) override;
  void give(FlowId peer, TunnelEnd& tunnel, Time now) override;
  void refuse(FlowId peer) override;
  void leave_tunnels() override { tunnels_.clear(); }
  // Returns the address of a peer that waits.
  std::optional<quic::Address> find(FlowId peer) const;

 private:
  struct Waiting {
    FlowId id;
    quic::Address address;
    quic::DatagramRing packets{k_waiting_bytes};
  };

  LocalPort(const Place& place, std::unique_ptr<io::UdpSocket> socket)
      : place_(place), socket_(std::move(socket)) {}
  // io::PollGroup::Member
  void on_readable() override;
  // Reads what waits in the socket, up to a bound.
  void read();
  void take(const quic::Address& peer, const tunnel::Packet& packet);
  // Returns null for a tunnel that is over.
  TunnelEnd* open_tunnel(quic::StreamId stream) const;
  void remember(quic::StreamId stream);

  Place place_;
  std::unique_ptr<io::UdpSocket> socket_;
  bool watched_ = false;
  FlowId next_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<NewFlow> new_;
  // Tunnels of its peers, and some that are over
  std::vector<quic::StreamId> tunnels_;
  std::size_t forget_at_ = k_max_waiting_peers;
};

}  // namespace sheaf::tunnel_node
