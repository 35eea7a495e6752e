#include "tunnel/flow_queues.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// No packet of a tunnel is larger, so every turn sends one at least.
constexpr std::size_t k_quantum = 1500;

}  // namespace

InnerPacketQueue& FlowQueues::of(std::size_t flow) {
  const std::size_t index = fair_ ? flow : 0;
  while (queues_.size() <= index) queues_.push_back({.packets = InnerPacketQueue(config_)});
  return queues_[index].packets;
}

std::optional<Bytes> FlowQueues::front(Time now) {
  for (std::size_t turns = 0; turns <= queues_.size(); ++turns) {
    if (queues_.empty()) break;
    Queue& queue = queues_[turn_];
    const auto packet = queue.packets.front(now);
    if (!packet) {
      queue.deficit = 0;
      end_turn();
      continue;
    }
    if (!granted_) queue.deficit += std::max(k_quantum, packet->size());
    granted_ = true;
    front_size_ = packet->size();
    if (front_size_ <= queue.deficit) return packet;
    end_turn();
  }
  return std::nullopt;
}

void FlowQueues::pop() {
  Queue& queue = queues_[turn_];
  queue.deficit -= front_size_;
  queue.packets.pop();
}

void FlowQueues::end_turn() {
  turn_ = (turn_ + 1) % queues_.size();
  granted_ = false;
}

bool FlowQueues::empty() const {
  return std::ranges::all_of(queues_, [](const Queue& queue) { return queue.packets.empty(); });
}

std::size_t FlowQueues::bytes() const {
  std::size_t sum = 0;
  for (const Queue& queue : queues_) sum += queue.packets.bytes();
  return sum;
}

InnerPacketCounts FlowQueues::counts() const {
  InnerPacketCounts sum;
  for (const Queue& queue : queues_) {
    const InnerPacketCounts& counts = queue.packets.counts();
    sum.queued += counts.queued;
    sum.repeated += counts.repeated;
    sum.taken += counts.taken;
    sum.full += counts.full;
    sum.managed += counts.managed;
    sum.bytes_dropped += counts.bytes_dropped;
    sum.bytes_arrived += counts.bytes_arrived;
    sum.bytes_left += counts.bytes_left;
  }
  return sum;
}

}  // namespace sheaf::quic
