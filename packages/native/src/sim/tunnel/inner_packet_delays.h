#pragma once

#include <cstring>
#include <unordered_map>
#include <vector>

#include "util/bytes.h"
#include "util/time.h"

namespace sheaf::quic {

// Measures how long packets of inner connections take from end to end. The end of a sealed packet
// tells it from all others.
class InnerPacketDelays {
 public:
  void on_sent(Bytes packet, Time now) {
    ++sent_;
    in_flight_.emplace(name_of(packet), now);
  }
  // The first copy of a packet counts.
  void on_received(Bytes packet, Time now) {
    const auto found = in_flight_.find(name_of(packet));
    if (found == in_flight_.end()) return;
    delays_.push_back(now - found->second);
    in_flight_.erase(found);
  }
  std::uint64_t sent() const { return sent_; }
  // Of those that arrived, in their order
  const std::vector<Duration>& delays() const { return delays_; }

 private:
  static std::uint64_t name_of(Bytes packet) {
    std::uint64_t name = 0;
    const std::size_t length = std::min(packet.size(), sizeof name);
    std::memcpy(&name, packet.data() + packet.size() - length, length);
    return name;
  }

  std::unordered_map<std::uint64_t, Time> in_flight_;
  std::vector<Duration> delays_;
  std::uint64_t sent_ = 0;
};

}  // namespace sheaf::quic
