#include "tunnel_node/relay_port.h"

#include <algorithm>

#include "io/monotonic_clock.h"
#include "tunnel/relay_header.h"
#include "tunnel_node/tunnel_ends.h"

namespace sheaf::tunnel_node {

using tunnel::DropReason;

namespace {

std::string_view text_of(quic::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

quic::Result<std::unique_ptr<RelayPort>, io::SocketError> RelayPort::open(
    const Place& place, const quic::Address& local, const quic::Address& program) {
  auto socket = io::UdpSocket::open(local, {.segmentation_offload = false});
  if (!socket) return socket.error();
  // Only now: another process that has the port keeps it for itself.
  (*socket)->share_address();
  const int descriptor = (*socket)->descriptor();
  std::unique_ptr<RelayPort> port(new RelayPort(place, std::move(*socket), program));
  if (auto status = place.node.watch(descriptor, *port); !status) return status.error();
  return port;
}

RelayPort::~RelayPort() {
  place_.node.stop_watching(listening_->descriptor(), *this);
  if (connected_) place_.node.stop_watching(connected_->descriptor(), *this);
  for (const auto& [header, flow] : flows_) {
    if (TunnelEnd* tunnel = tunnel_of(flow)) tunnel->close();
  }
}

TunnelEnd* RelayPort::tunnel_of(const Flow& flow) const {
  TunnelEnd* tunnel = flow.stream ? place_.ends.find(*flow.stream) : nullptr;
  return tunnel && !tunnel->request().over() ? tunnel : nullptr;
}

RelayPort::Flows::iterator RelayPort::find(FlowId target) {
  return std::ranges::find_if(flows_, [&](const auto& each) { return each.second.id == target; });
}

quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> RelayPort::open(
    FlowId target, const TunnelEnd::Place& place, TunnelSettings settings, Time now) {
  const auto found = find(target);
  if (found == flows_.end() || !connected_) return std::unique_ptr<TunnelEnd>();
  const auto& header = found->first;
  return TunnelEnd::open(place, Outlet(connected_, {header.begin(), header.end()}), settings, now);
}

void RelayPort::give(FlowId target, TunnelEnd& tunnel, Time now) {
  const auto found = find(target);
  if (found == flows_.end() || !found->second.waiting) return;
  Flow& flow = found->second;
  flow.stream = tunnel.request().stream();
  while (const auto packet = flow.waiting->pop()) tunnel.receive(untagged(*packet), now);
  flow.waiting.reset();
  --waiting_;
}

void RelayPort::refuse(FlowId target) {
  const auto found = find(target);
  if (found == flows_.end()) return;
  if (found->second.waiting) --waiting_;
  flows_.erase(found);
}

void RelayPort::on_readable() {
  const Time now = io::monotonic_now();
  read_listening(now);
  read_connected(now);
  for (const quic::StreamId stream : touched_) {
    if (TunnelEnd* tunnel = place_.ends.find(stream)) tunnel->on_burst_end();
  }
  touched_.clear();
  if (!new_.empty()) place_.loop.wake(place_.driver);
}

void RelayPort::read_listening(Time now) {
  for (int call = 0; call < k_receive_calls; ++call) {
    listening_->receive([&](const quic::Datagram& datagram) {
      const quic::Address& from = datagram.path.remote;
      if (!from.same_ip(program_) || (program_.port != 0 && from.port != program_.port)) return;
      if (!connected_) connect(from);
      if (!connected_) return;  // no descriptor is left: the next packet tries again
      take({datagram.payload, datagram.ecn}, now);
    });
    if (listening_->drained()) return;
  }
}

// From now on, what the program sends comes by a socket of its own.
void RelayPort::connect(const quic::Address& program) {
  auto opened = io::ConnectedSocket::open(program, listening_->local_address());
  if (!opened || !place_.node.watch((*opened)->descriptor(), *this)) return;
  connected_ = std::move(*opened);
  program_ = program;
}

void RelayPort::read_connected(Time now) {
  for (int call = 0; call < k_receive_calls && connected_; ++call) {
    const auto received =
        connected_->receive(*place_.node.buffers_, [&](quic::Bytes packet, quic::Ecn ecn) {
          take({packet, ecn}, now);
        });
    if (received.messages == 0) return;
  }
}

void RelayPort::take(const tunnel::Packet& packet, Time now) {
  const auto header = tunnel::read_relay_header(packet.payload);
  if (!header) {
    return drop(header.error() == tunnel::RelayHeaderError::kFragment ? DropReason::kFragment
                                                                      : DropReason::kBadHeader);
  }
  Flow* flow = find_or_add(text_of(packet.payload.first(header->size)));
  if (!flow) return drop(DropReason::kNoTunnel);
  const tunnel::Packet inner{packet.payload.subspan(header->size), packet.ecn};
  if (TunnelEnd* tunnel = tunnel_of(*flow)) {
    if (touched_.empty() || touched_.back() != *flow->stream) touched_.push_back(*flow->stream);
    return tunnel->receive(inner, now);
  }
  if (!flow->waiting) {
    // It has no tunnel yet, or its last one is over.
    if (waiting_ == k_max_waiting_targets) return drop(DropReason::kNoTunnel);
    flow->stream.reset();
    flow->waiting.emplace(k_waiting_bytes);
    ++waiting_;
    new_.push_back({flow->id, header->host_text(), header->port});
  }
  push_tagged(*flow->waiting, inner);
}

RelayPort::Flow* RelayPort::find_or_add(std::string_view header) {
  if (const auto found = flows_.find(header); found != flows_.end()) return &found->second;
  if (flows_.size() == k_max_targets) {
    std::erase_if(
        flows_, [&](const auto& each) { return !each.second.waiting && !tunnel_of(each.second); });
  }
  if (flows_.size() == k_max_targets) return nullptr;
  return &flows_.emplace(header, Flow{next_++, {}, {}}).first->second;
}

}  // namespace sheaf::tunnel_node
