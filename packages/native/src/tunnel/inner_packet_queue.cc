#include "tunnel/inner_packet_queue.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

namespace {

Duration waited(const DatagramRing::Entry& entry, Time now) {
  return Duration(static_cast<std::int64_t>(to_nanoseconds(now) - entry.tag));
}

}  // namespace

bool InnerPacketQueue::push(Bytes packet, Time now) {
  counts_.bytes_arrived += counted(packet);
  if (!has_room(packet) || !packets_.push(packet, to_nanoseconds(now))) {
    ++counts_.full;
    counts_.bytes_dropped += counted(packet);
    return false;
  }
  ++counts_.queued;
  bytes_ += counted(packet);
  return true;
}

bool InnerPacketQueue::push_repeat(Bytes packet, Time now) {
  if (!has_room(packet) || !repeats_.push(packet, to_nanoseconds(now))) {
    ++counts_.full;
    return false;
  }
  ++counts_.repeated;
  bytes_ += counted(packet);
  return true;
}

std::optional<Bytes> InnerPacketQueue::front(Time now) {
  if (!repeats_.empty() && (config_.repeats_first || packets_.empty())) {
    repeat_is_front_ = true;
    return repeats_.front()->payload;
  }
  repeat_is_front_ = false;
  while (const auto first = packets_.front()) {
    if (!config_.codel || !law_.acts_on(waited(*first, now), bytes_, now)) return first->payload;
    ++counts_.managed;
    const std::size_t size = counted(packets_.pop()->payload);
    counts_.bytes_dropped += size;
    shrink(size);
  }
  law_.on_empty();
  return std::nullopt;
}

void InnerPacketQueue::pop() {
  const std::size_t size = counted((repeat_is_front_ ? repeats_ : packets_).pop()->payload);
  ++counts_.taken;
  if (!repeat_is_front_) counts_.bytes_left += size;
  shrink(size);
}

void InnerPacketQueue::shrink(std::size_t bytes) {
  bytes_ -= bytes;
  least_bytes_ = std::min(least_bytes_, bytes_);
}

Duration InnerPacketQueue::oldest_wait(Time now) const {
  Duration longest{};
  for (const DatagramRing* ring : {&packets_, &repeats_}) {
    if (const auto first = ring->front()) longest = std::max(longest, waited(*first, now));
  }
  return longest;
}

FlowAtTunnel InnerPacketQueue::take_flow(Time now) {
  return {.bytes_arrived = counts_.bytes_arrived,
          .bytes_left = counts_.bytes_left + counts_.bytes_dropped,
          .packets_sent = counts_.taken,
          .packets_repeated = counts_.repeated,
          .waits = !empty(),
          .least_bytes = take_least_bytes(),
          .oldest_wait = oldest_wait(now)};
}

std::size_t InnerPacketQueue::take_least_bytes() { return std::exchange(least_bytes_, bytes_); }

}  // namespace sheaf::quic
