#pragma once

#include <algorithm>
#include <deque>

#include "wire/types.h"

namespace sheaf::quic {

// The newest runs that a backend was told, to know how long one is that it refuses. Bounded: of
// older ones nothing is known, and loss detection finds them.
class OrderedRuns {
 public:
  static constexpr std::size_t k_max_runs = 512;

  // `first` is above all runs before.
  void add(PacketNumber first, std::uint8_t packets) {
    if (runs_.size() == k_max_runs) runs_.pop_front();
    runs_.push_back({first, packets});
  }
  // Forgets the run that begins with `first`. Returns its length in packets; 0 when it is not
  // known.
  std::uint8_t take(PacketNumber first) {
    const auto run = std::ranges::lower_bound(runs_, first, {}, &Ordered::first);
    if (run == runs_.end() || run->first != first) return 0;
    const std::uint8_t packets = run->packets;
    runs_.erase(run);
    return packets;
  }

 private:
  struct Ordered {
    PacketNumber first = 0;
    std::uint8_t packets = 0;
  };
  std::deque<Ordered> runs_;
};

}  // namespace sheaf::quic
