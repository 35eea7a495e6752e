#include "tunnel_request/tunnel_stream.h"

#include "tunnel/standing_queue.h"

namespace sheaf::tunnel_request {

using tunnel::DropReason;

void TunnelStream::send(tunnel::Packet packet, Time now) {
  if (!contexts_.carry_marks()) packet.ecn = Ecn::kNotEct;
  if (!queue_.push(packet, now)) counts_.drop(DropReason::kQueueFull);
}

void TunnelStream::take(std::vector<std::uint8_t>& out, Time now) {
  const std::size_t before = out.size();
  while (!queue_.empty()) {
    if (!tunnel::keep_front(queue_, law_, counts_, now)) continue;
    const tunnel::Packet packet = queue_.front();
    const std::size_t size = packet.payload.size();
    const std::size_t taken = out.size() - before;
    if (taken > 0 && taken + size + k_capsule_overhead > k_batch) return;
    append_capsule(out, packet, contexts_);
    counts_.to_client.add(1, size);
    queue_.pop();
  }
  law_.on_empty();
}

void TunnelStream::release_spare() {
  queue_.release();
  capsules_.release_spare();
}

}  // namespace sheaf::tunnel_request
