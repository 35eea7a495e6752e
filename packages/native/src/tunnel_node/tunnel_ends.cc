#include "tunnel_node/tunnel_ends.h"

#include <optional>
#include <variant>

namespace sheaf::tunnel_node {

namespace {

std::optional<quic::StreamId> stream_of(const http3::SessionEvent& event) {
  return std::visit(
      [](const auto& value) -> std::optional<quic::StreamId> {
        if constexpr (requires { value.stream; }) {
          return value.stream;
        } else {
          return std::nullopt;
        }
      },
      event);
}

}  // namespace

TunnelEnd* TunnelEnds::find(quic::StreamId stream) const {
  const auto found = ends_.find(stream);
  return found == ends_.end() ? nullptr : found->second.get();
}

TunnelEnd& TunnelEnds::keep(std::unique_ptr<TunnelEnd> end) {
  TunnelEnd& kept = *end;
  ends_[kept.request().stream()] = std::move(end);
  kept.want_turn();
  return kept;
}

std::size_t TunnelEnds::keep(std::unique_ptr<ProgramPort> port) {
  ports_[next_port_] = std::move(port);
  return next_port_++;
}

ProgramPort* TunnelEnds::port(std::size_t number) const {
  const auto found = ports_.find(number);
  return found == ports_.end() ? nullptr : found->second.get();
}

bool TunnelEnds::on_event(const http3::SessionEvent& event, Time now) {
  // The connection may have room again after its last tunnel has gone.
  if (std::holds_alternative<http3::DatagramsWritable>(event)) way_.blocked = false;
  if (const auto* outcome = std::get_if<http3::DatagramOutcome>(&event)) {
    if (!tunnel_request::TunnelRequest::is_of_tunnel(outcome->identifier)) return false;
    const auto lost = tunnel_request::TunnelRequest::settle(way_, *outcome);
    if (TunnelEnd* end = lost ? find(lost->stream) : nullptr) {
      end->request().on_lost(lost->packet, now);
    }
    return true;
  }
  if (ends_.empty()) return false;
  if (std::holds_alternative<http3::SessionClosed>(event)) {
    on_connection_closed(now);
    return false;
  }
  const auto stream = stream_of(event);
  TunnelEnd* end = stream ? find(*stream) : nullptr;
  if (!end) return false;
  const bool taken = end->request().on_event(event, now);
  // Whoever hears the end of the stream hears before what became of the tunnel.
  if (end->request().over()) end->on_turn(now);
  if (end->request().closed()) closed_.push_back(*stream);
  return taken;
}

void TunnelEnds::on_connection_closed(Time now) {
  for (const auto& [stream, end] : ends_) end->on_connection_closed();
  on_turn(now);
}

void TunnelEnds::on_turn(Time now) {
  for (const quic::StreamId stream : std::exchange(turns_, {})) {
    if (TunnelEnd* end = find(stream)) end->on_turn(now);
  }
  if (way_.waiting.empty()) return;
  tunnel_request::TunnelRequest::send_all_waiting(way_, now);
  if (!ends_.empty()) ends_.begin()->second->wake_if_queued();
}

void TunnelEnds::remove_closed() {
  for (const quic::StreamId stream : std::exchange(closed_, {})) ends_.erase(stream);
}

}  // namespace sheaf::tunnel_node
