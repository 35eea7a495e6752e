#include "tunnel_node/stream_end.h"

#include <utility>

#include "tunnel_node/stream_ends.h"

namespace sheaf::tunnel_node {

using http3::ErrorCode;
using http3::value_of;

quic::Result<std::unique_ptr<StreamEnd>, io::SocketError> StreamEnd::open(
    const Place& place, const TunnelSettings& settings, Time now) {
  auto socket = io::ConnectedSocket::open(settings.target);
  if (!socket) return socket.error();
  std::unique_ptr<StreamEnd> end(new StreamEnd(place, std::move(*socket), settings, now));
  if (auto status = end->side_.begin(); !status) return status.error();
  return end;
}

StreamEnd::StreamEnd(const Place& place, std::unique_ptr<io::ConnectedSocket> socket,
                     const TunnelSettings& settings, Time now)
    : place_(place),
      stream_({place.node.room(), *place_.waiting_bytes}, settings.queue_limit, settings.contexts),
      side_(place.node, *this, Outlet(std::move(socket)), settings, now) {}

StreamEnd::~StreamEnd() { side_.leave(); }

void StreamEnd::receive(quic::Bytes bytes, Time now) {
  if (over_) return;
  side_.note_activity(now);
  const auto fault =
      stream_.receive(bytes, [this](const tunnel::Packet& packet) { side_.send(packet); });
  side_.flush();
  if (fault) finish(TunnelOver::kClient, *fault);
}

void StreamEnd::on_finished() {
  const bool whole = stream_.at_boundary();
  finish(TunnelOver::kClient, whole ? ErrorCode::kNoError : ErrorCode::kMessageError);
}

void StreamEnd::on_writable() {
  writable_ = true;
  on_burst_end();
}

void StreamEnd::on_burst_end() {
  if (writable_ && !over_ && stream_.waits()) place_.ends.note(*this);
}

std::vector<std::uint8_t> StreamEnd::take(Time now) {
  std::vector<std::uint8_t> batch;
  if (!writable_ || over_) return batch;
  stream_.take(batch, now);
  writable_ = batch.empty();
  return batch;
}

void StreamEnd::end(TunnelOver reason) {
  const bool reached = reason != TunnelOver::kUnreachable;
  finish(reason, reached ? ErrorCode::kNoError : ErrorCode::kConnectError);
}

void StreamEnd::finish(TunnelOver reason, ErrorCode code) {
  if (over_) return;
  reason_ = reason;
  over_ = value_of(code);
  side_.close();
  place_.ends.note(*this);
}

}  // namespace sheaf::tunnel_node
