#include "tunnel_node/local_port.h"

#include <algorithm>

#include "io/tcp_listener.h"
#include "tunnel_node/tunnel_ends.h"

namespace sheaf::tunnel_node {

namespace {

using OpenedSocket = quic::Result<std::unique_ptr<io::UdpSocket>, io::SocketError>;

OpenedSocket open_socket(const quic::Address& address) {
  auto socket = io::UdpSocket::open(address, {.segmentation_offload = false});
  // Only now: another process that has the port keeps it for itself.
  if (socket) (*socket)->share_address();
  return socket;
}

OpenedSocket take_socket(const quic::Address& address, int bound) {
  const int copy = io::duplicate_descriptor(bound);
  if (copy < 0) return io::socket_error(-copy, "fcntl", address);
  return io::UdpSocket::adopt(copy, address, {.segmentation_offload = false});
}

}  // namespace

quic::Result<std::unique_ptr<LocalPort>, io::SocketError> LocalPort::open(
    const Place& place, const quic::Address& address, std::optional<int> bound) {
  auto socket = bound ? take_socket(address, *bound) : open_socket(address);
  if (!socket) return socket.error();
  std::unique_ptr<LocalPort> port(new LocalPort(place, std::move(*socket)));
  if (auto status = place.node.watch(port->socket_->descriptor(), *port); !status) {
    return status.error();
  }
  port->watched_ = true;
  return port;
}

LocalPort::~LocalPort() {
  if (watched_) place_.node.stop_watching(socket_->descriptor(), *this);
  for (const quic::StreamId stream : tunnels_) {
    if (TunnelEnd* tunnel = open_tunnel(stream)) tunnel->close();
  }
}

TunnelEnd* LocalPort::open_tunnel(quic::StreamId stream) const {
  TunnelEnd* tunnel = place_.ends.find(stream);
  return tunnel && !tunnel->request().over() ? tunnel : nullptr;
}

void LocalPort::remember(quic::StreamId stream) {
  if (tunnels_.size() >= forget_at_) {
    std::erase_if(tunnels_, [&](quic::StreamId each) { return !open_tunnel(each); });
    // So a tunnel costs few looks, however many there are.
    forget_at_ = std::max(k_max_waiting_peers, 2 * tunnels_.size());
  }
  tunnels_.push_back(stream);
}

quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> LocalPort::open(
    FlowId peer, const TunnelEnd::Place& place, TunnelSettings settings, Time now) {
  const auto address = find(peer);
  if (!address) return std::unique_ptr<TunnelEnd>();
  settings.target = *address;
  settings.local = socket_->local_address();
  return TunnelEnd::open(place, settings, now);
}

std::optional<quic::Address> LocalPort::find(FlowId peer) const {
  const auto found = std::ranges::find(waiting_, peer, &Waiting::id);
  if (found == waiting_.end()) return std::nullopt;
  return found->address;
}

void LocalPort::give(FlowId peer, TunnelEnd& tunnel, Time now) {
  // What came before the peer's own socket was there is still in this one.
  read();
  const auto found = std::ranges::find(waiting_, peer, &Waiting::id);
  if (found == waiting_.end()) return;
  remember(tunnel.request().stream());
  for (auto& packets = found->packets; const auto packet = packets.pop();) {
    tunnel.receive(untagged(*packet), now);
  }
  refuse(peer);
}

void LocalPort::refuse(FlowId peer) {
  std::erase_if(waiting_, [&](const Waiting& each) { return each.id == peer; });
}

void LocalPort::on_readable() {
  read();
  if (!new_.empty()) place_.loop.wake(place_.driver);
}

void LocalPort::read() {
  for (int call = 0; call < k_receive_calls; ++call) {
    socket_->receive([this](const quic::Datagram& datagram) {
      take(datagram.path.remote, {datagram.payload, datagram.ecn});
    });
    if (socket_->drained()) return;
  }
}

void LocalPort::take(const quic::Address& peer, const tunnel::Packet& packet) {
  auto found = std::ranges::find(waiting_, peer, &Waiting::address);
  if (found == waiting_.end()) {
    if (waiting_.size() == k_max_waiting_peers) return;
    new_.push_back({next_, {}, 0});
    waiting_.push_back({next_++, peer});
    found = waiting_.end() - 1;
  }
  push_tagged(found->packets, packet);
}

}  // namespace sheaf::tunnel_node
