#include "tunnel_node/tunnel_end.h"

#include <utility>

#include "tunnel_node/tunnel_ends.h"

namespace sheaf::tunnel_node {

quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> TunnelEnd::open(
    const Place& place, const TunnelSettings& settings, Time now) {
  auto socket = io::ConnectedSocket::open(settings.target, settings.local);
  if (!socket) return socket.error();
  return open(place, Outlet(std::move(*socket)), settings, now);
}

quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> TunnelEnd::open(
    const Place& place, Outlet outlet, const TunnelSettings& settings, Time now) {
  std::unique_ptr<TunnelEnd> end(new TunnelEnd(place, std::move(outlet), settings, now));
  if (auto status = end->side_.begin(); !status) return status.error();
  return end;
}

TunnelEnd::TunnelEnd(const Place& place, Outlet outlet, const TunnelSettings& settings, Time now)
    : place_(place),
      side_(place.node, *this, std::move(outlet), settings, now),
      request_({place.session, place.stream, place.way, place.node.room(), *this},
               {settings.queue_limit, settings.mode, settings.reports, settings.contexts}, now) {}

// Newer reports take the place of older ones.
void TunnelEnd::on_report(quic::Bytes report) {
  if (report.size() > quic::k_longest_feedback_report) return;
  report_.assign(report.begin(), report.end());
  if (!std::exchange(report_waits_, true)) place_.ends.note_report(*this);
}

// The request may ask while it is being made. Whoever keeps the tunnel gives it its first turn.
void TunnelEnd::want_turn() {
  if (!place_.ends.find(place_.stream)) return;
  if (std::exchange(wants_turn_, true)) return;
  place_.ends.want_turn(*this);
}

void TunnelEnd::on_turn(Time now) {
  wants_turn_ = false;
  side_.note_activity(now);
  side_.flush();
  request_.on_turn();
  request_.flush();
  if (unreachable_) end(TunnelOver::kUnreachable);
  wake_if_queued();
  if (!request_.over()) return;
  side_.close();
  if (!std::exchange(told_over_, true)) place_.ends.note_over(*this);
}

void TunnelEnd::on_burst_end() {
  request_.flush();
  wake_if_queued();
}

void TunnelEnd::wake_if_queued() {
  if (std::exchange(place_.way.queued, false)) place_.loop.wake(place_.driver);
}

void TunnelEnd::on_unreachable() {
  unreachable_ = true;  // the session may be delivering datagrams, so it is not called here
  want_turn();
  place_.loop.wake(place_.driver);
}

void TunnelEnd::end(TunnelOver reason) {
  if (request_.over()) return;
  reason_ = reason;
  side_.close();
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

}  // namespace sheaf::tunnel_node
