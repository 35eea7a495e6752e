#include "tunnel_request/tunnel_stream.h"

namespace sheaf::tunnel_request {

using tunnel::DropReason;

void TunnelStream::send(Bytes payload, Time now) {
  if (!queue_.push(payload, now)) counts_.drop(DropReason::kQueueFull);
}

void TunnelStream::take(std::vector<std::uint8_t>& out, Time now) {
  const std::size_t before = out.size();
  while (!queue_.empty()) {
    const Bytes payload = queue_.front();
    if (law_.acts_on(now - queue_.front_time(), queue_.bytes(), now)) {
      counts_.drop(DropReason::kQueueStanding);
    } else {
      const std::size_t taken = out.size() - before;
      if (taken > 0 && taken + payload.size() + k_capsule_overhead > k_batch) return;
      append_capsule(out, payload);
      counts_.to_client.add(1, payload.size());
    }
    queue_.pop();
  }
  law_.on_empty();
}

void TunnelStream::release_spare() {
  queue_.release();
  capsules_.release_spare();
}

}  // namespace sheaf::tunnel_request
