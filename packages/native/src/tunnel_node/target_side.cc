#include "tunnel_node/target_side.h"

#include <utility>

#include "io/monotonic_clock.h"

namespace sheaf::tunnel_node {

using tunnel::DropReason;

namespace {

// System calls in a turn, so that other sockets get theirs, too.
constexpr int k_receive_calls = 4;

}  // namespace

TargetSide::TargetSide(TunnelNode& node, ClientSide& client, Outlet outlet,
                       const TunnelSettings& settings, Time now)
    : node_(node),
      client_(client),
      outlet_(std::move(outlet)),
      budget_(node.budget_of(settings.rate_name, settings.rate)),
      idle_(settings.idle),
      active_at_(now) {}

void TargetSide::leave() {
  close();
  node_.remove(*this);
}

void TargetSide::close() {
  node_.stop_listening(*this);
  outlet_.socket.reset();
}

void TargetSide::send(const tunnel::Packet& packet) {
  if (!outlet_.socket) return;
  if (!first_response_.measured()) {
    measure_response(tunnel::FirstResponse::Direction::kToTarget, io::monotonic_now());
  }
  if (budget_ && !budget_->take_to_target(packet.payload.size(), io::monotonic_now())) {
    return client_.counts().drop(DropReason::kOverRate);
  }
  node_.append(*this, packet);
}

void TargetSide::receive(const tunnel::Packet& packet, Time now) {
  measure_response(tunnel::FirstResponse::Direction::kToClient, now);
  if (budget_ && !budget_->take_to_client(packet.payload.size(), now)) {
    return client_.counts().drop(DropReason::kOverRate);
  }
  client_.on_packet(packet, now);
}

void TargetSide::on_readable() {
  const Time now = io::monotonic_now();
  active_at_ = now;
  int gone = 0;
  bool drained = false;
  for (int call = 0; call < k_receive_calls && gone == 0 && !drained; ++call) {
    const auto received =
        outlet_.socket->receive(*node_.buffers_, [&](quic::Bytes payload, quic::Ecn ecn) {
          receive({payload, ecn}, now);
        });
    client_.counts().drop(DropReason::kTargetTooLarge, received.too_large);
    gone = received.gone;
    drained = received.drained;
  }
  if (gone != 0) client_.end(TunnelOver::kUnreachable);
  client_.on_burst_end();
}

void TargetSide::on_sent(const io::ConnectedSocket::Sent& sent) {
  tunnel::Counts& counts = client_.counts();
  counts.to_target.add(sent.datagrams, sent.bytes - sent.datagrams * outlet_.header.size());
  counts.drop(DropReason::kTargetTooLarge, sent.too_large);
  counts.drop(DropReason::kTargetBlocked, sent.blocked);
  counts.drop(DropReason::kTargetRefused, sent.refused);
  if (sent.gone != 0) client_.on_unreachable();
}

void TargetSide::measure_response(tunnel::FirstResponse::Direction direction, Time now) {
  if (const auto response = first_response_.on_packet(direction, now)) {
    node_.first_responses_.add(*response);
  }
}

void TargetSide::check_idle(Time now) {
  if (now >= active_at_ + idle_) {
    client_.end(TunnelOver::kIdle);
  } else if (now >= active_at_ + idle_ / 2) {
    client_.release_spare();
  }
}

}  // namespace sheaf::tunnel_node
