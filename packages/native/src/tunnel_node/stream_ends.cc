#include "tunnel_node/stream_ends.h"

namespace sheaf::tunnel_node {

quic::Result<StreamEnd*, io::SocketError> StreamEnds::open(TunnelNode& node,
                                                           std::uint32_t connection,
                                                           const TunnelSettings& settings,
                                                           Time now) {
  std::erase_if(waiting_bytes_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<std::size_t>& held = waiting_bytes_[connection];
  std::shared_ptr<std::size_t> waiting_bytes = held.lock();
  if (!waiting_bytes) held = waiting_bytes = std::make_shared<std::size_t>(0);
  auto opened = StreamEnd::open({node, *this, std::move(waiting_bytes), next_}, settings, now);
  if (!opened) return opened.error();
  StreamEnd* end = opened->get();
  ends_[next_++] = std::move(*opened);
  return end;
}

StreamEnd* StreamEnds::find(std::uint32_t number) const {
  const auto found = ends_.find(number);
  return found == ends_.end() ? nullptr : found->second.get();
}

void StreamEnds::note(StreamEnd& end) {
  if (std::exchange(end.listed_, true)) return;
  pending_.push_back(end.number());
  notify_();
}

}  // namespace sheaf::tunnel_node
