#include "tunnel_node/local_port.h"

#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "io/socket_address.h"
#include "io/socket_calls.h"

namespace sheaf::tunnel_node {

namespace {

// System calls in a turn, so that other sockets get theirs, too.
constexpr int k_packets_at_once = 64;

}  // namespace

quic::Result<std::unique_ptr<LocalPort>, io::SocketError> LocalPort::open(
    const Place& place, const quic::Address& address) {
  const bool ipv6 = address.family == quic::Address::Family::kIpv6;
  const int descriptor =
      socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return io::socket_error(errno, "socket", address);
  std::unique_ptr<LocalPort> port(new LocalPort(place, descriptor));
  sockaddr_storage bound;
  socklen_t length = io::to_sockaddr(address, ipv6, bound);
  // Another process that has the port keeps it. The option that lets the sockets of peers have the
  // same address comes afterwards.
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&bound), length) != 0) {
    return io::socket_error(errno, "bind", address);
  }
  io::set_option(descriptor, SOL_SOCKET, SO_REUSEPORT);
  length = sizeof bound;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return io::socket_error(errno, "getsockname", address);
  }
  port->address_ = io::from_sockaddr(bound);
  if (auto status = place.node.watch(descriptor, *port); !status) return status.error();
  port->watched_ = true;
  return port;
}

LocalPort::~LocalPort() {
  if (watched_) place_.node.stop_watching(descriptor_, *this);
  ::close(descriptor_);
}

std::optional<quic::Address> LocalPort::find(PeerId peer) const {
  const auto found = std::ranges::find(waiting_, peer, &Waiting::id);
  if (found == waiting_.end()) return std::nullopt;
  return found->address;
}

void LocalPort::give(PeerId peer, TunnelEnd& tunnel, Time now) {
  // What came before the peer's own socket was there is still in this one.
  read();
  const auto found = std::ranges::find(waiting_, peer, &Waiting::id);
  if (found == waiting_.end()) return;
  for (auto& packets = found->packets; const auto packet = packets.pop();) {
    tunnel.receive(packet->payload, now);
  }
  refuse(peer);
}

void LocalPort::refuse(PeerId peer) {
  std::erase_if(waiting_, [&](const Waiting& each) { return each.id == peer; });
}

void LocalPort::on_readable() {
  read();
  if (!new_.empty()) place_.loop.wake(place_.driver);
}

void LocalPort::read() {
  std::array<std::uint8_t, 64 << 10> buffer;
  for (int i = 0; i < k_packets_at_once; ++i) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const ssize_t size = recvfrom(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT,
                                  reinterpret_cast<sockaddr*>(&from), &length);
    if (size < 0) return;
    take(io::from_sockaddr(from), quic::Bytes(buffer).first(static_cast<std::size_t>(size)));
  }
}

void LocalPort::take(const quic::Address& peer, quic::Bytes packet) {
  auto found = std::ranges::find(waiting_, peer, &Waiting::address);
  if (found == waiting_.end()) {
    if (waiting_.size() == k_max_waiting_peers) return;
    new_.push_back(next_);
    waiting_.push_back({next_++, peer});
    found = waiting_.end() - 1;
  }
  found->packets.push(packet, 0);
}

}  // namespace sheaf::tunnel_node
