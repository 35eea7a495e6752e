#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/endpoint_loop.h"
#include "io/poll_group.h"
#include "io/udp_socket.h"
#include "tunnel_node/tunnel_end.h"
#include "util/datagram_ring.h"

namespace sheaf::tunnel_node {

// A local port of which each peer gets a tunnel of its own: what a client of a proxy forwards. Here
// come only the first packets of a peer. Once it has its tunnel, a socket that is connected to it
// takes the others.
class LocalPort final : private io::PollGroup::Member {
 public:
  // Peers that wait for a tunnel at one time, and bytes that each of them may have sent: a first
  // flight of ten packets (RFC 9002 §7.2). What is beyond is dropped.
  static constexpr std::size_t k_max_waiting_peers = 256;
  static constexpr std::size_t k_max_waiting_bytes = 16 << 10;

  using PeerId = std::uint32_t;

  // All must outlive the port.
  struct Place {
    TunnelNode& node;
    io::EndpointLoop& loop;
    quic::ConnectionDriver& driver;
  };

  // Port 0 takes a free one.
  static quic::Result<std::unique_ptr<LocalPort>, io::SocketError> open(
      const Place& place, const quic::Address& address);
  ~LocalPort();

  const quic::Address& address() const { return socket_->local_address(); }
  // Calls `tell(peer)` once for each peer that waits for a tunnel.
  template <typename Tell>
  void take_new(Tell&& tell) {
    for (const PeerId peer : std::exchange(new_, {})) tell(peer);
  }
  // Returns the address of a peer that waits.
  std::optional<quic::Address> find(PeerId peer) const;
  // Gives what the peer has sent so far to its tunnel, whose socket is open.
  void give(PeerId peer, TunnelEnd& tunnel, Time now);
  // The peer gets no tunnel, and its packets are dropped. The next one that it sends asks again.
  void refuse(PeerId peer);

 private:
  struct Waiting {
    PeerId id;
    quic::Address address;
    quic::DatagramRing packets{k_max_waiting_bytes};
  };

  LocalPort(const Place& place, std::unique_ptr<io::UdpSocket> socket)
      : place_(place), socket_(std::move(socket)) {}
  // io::PollGroup::Member
  void on_readable() override;
  // Reads what waits in the socket, up to a bound.
  void read();
  void take(const quic::Address& peer, quic::Bytes packet);

  Place place_;
  std::unique_ptr<io::UdpSocket> socket_;
  bool watched_ = false;
  PeerId next_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<PeerId> new_;
};

}  // namespace sheaf::tunnel_node
