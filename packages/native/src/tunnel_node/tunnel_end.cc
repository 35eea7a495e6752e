#include "tunnel_node/tunnel_end.h"

#include <utility>

#include "io/monotonic_clock.h"
#include "tunnel_node/tunnel_ends.h"

namespace sheaf::tunnel_node {

using tunnel::DropReason;

namespace {

// System calls in a turn, so that other sockets get theirs, too.
constexpr int k_receive_calls = 4;

}  // namespace

quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> TunnelEnd::open(
    const Place& place, const TunnelSettings& settings, Time now) {
  auto socket = io::ConnectedSocket::open(settings.target);
  if (!socket) return socket.error();
  std::unique_ptr<TunnelEnd> end(new TunnelEnd(place, std::move(*socket), settings, now));
  if (auto status = place.node.add(*end); !status) return status.error();
  return end;
}

TunnelEnd::TunnelEnd(const Place& place, std::unique_ptr<io::ConnectedSocket> socket,
                     const TunnelSettings& settings, Time now)
    : place_(place),
      socket_(std::move(socket)),
      budget_(place.node.budget_of(settings.rate_name, settings.rate)),
      idle_(settings.idle),
      active_at_(now),
      request_({place.session, place.stream, place.way, place.node.room_, *this},
               settings.queue_limit, now) {}

TunnelEnd::~TunnelEnd() {
  place_.node.stop_listening(*this);
  place_.node.remove(*this);
}

void TunnelEnd::send(quic::Bytes payload) {
  if (budget_ && !budget_->take_to_target(payload.size(), io::monotonic_now())) {
    return request_.counts().drop(DropReason::kOverRate);
  }
  place_.node.append(*this, payload);
}

void TunnelEnd::receive(quic::Bytes payload, Time now) {
  if (budget_ && !budget_->take_to_client(payload.size(), now)) {
    return request_.counts().drop(DropReason::kOverRate);
  }
  request_.send(payload, now);
}

// The request may ask while it is being made. Whoever keeps the tunnel gives it its first turn.
void TunnelEnd::want_turn() {
  if (!place_.ends.find(place_.stream)) return;
  if (std::exchange(wants_turn_, true)) return;
  place_.ends.want_turn(*this);
}

void TunnelEnd::on_turn(Time now) {
  wants_turn_ = false;
  active_at_ = now;
  place_.node.flush();
  request_.on_turn();
  request_.flush();
  if (unreachable_) end(TunnelOver::kUnreachable);
  wake_if_queued();
  if (!request_.over()) return;
  place_.node.stop_listening(*this);
  socket_.reset();
  if (!std::exchange(told_over_, true)) place_.ends.note_over(*this);
}

void TunnelEnd::on_readable() {
  const Time now = io::monotonic_now();
  active_at_ = now;
  for (int call = 0; call < k_receive_calls && !request_.over(); ++call) {
    const auto received = socket_->receive(*place_.node.buffers_,
                                           [&](quic::Bytes payload) { receive(payload, now); });
    request_.counts().drop(DropReason::kTargetTooLarge, received.too_large);
    if (received.gone != 0) end(TunnelOver::kUnreachable);
    if (received.messages == 0) break;
  }
  request_.flush();
  wake_if_queued();
}

void TunnelEnd::wake_if_queued() {
  if (std::exchange(place_.way.queued, false)) place_.loop.wake(place_.driver);
}

void TunnelEnd::on_sent(const io::ConnectedSocket::Sent& sent) {
  tunnel::Counts& counts = request_.counts();
  counts.to_target.add(sent.datagrams, sent.bytes);
  counts.drop(DropReason::kTargetTooLarge, sent.too_large);
  counts.drop(DropReason::kTargetBlocked, sent.blocked);
  counts.drop(DropReason::kTargetRefused, sent.refused);
  if (sent.gone == 0) return;
  unreachable_ = true;  // the session may be delivering datagrams, so it is not called here
  want_turn();
  place_.loop.wake(place_.driver);
}

void TunnelEnd::end(TunnelOver reason) {
  if (request_.over()) return;
  reason_ = reason;
  place_.node.stop_listening(*this);
  if (reason == TunnelOver::kUnreachable) {
    request_.fail(http3::ErrorCode::kConnectError);
  } else {
    request_.end();
  }
  place_.loop.wake(place_.driver);
}

void TunnelEnd::on_connection_closed() {
  if (!request_.over()) reason_ = TunnelOver::kConnection;
  request_.on_connection_closed();
}

void TunnelEnd::check_idle(Time now) {
  if (now >= active_at_ + idle_) {
    end(TunnelOver::kIdle);
  } else if (now >= active_at_ + idle_ / 2) {
    request_.release_spare();
  }
}

}  // namespace sheaf::tunnel_node
