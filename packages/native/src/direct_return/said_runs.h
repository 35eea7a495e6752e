#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "direct_return/run_messages.h"

namespace sheaf::quic {

// Which runs the newest datagrams of a session ordered, to know what was in one that is void.
// Bounded: of older ones nothing is known, and loss detection finds their packets.
class SaidRuns {
 public:
  static constexpr std::size_t k_max_runs = 4096;

  struct Said {
    std::uint64_t datagram = 0;
    GrantId grant = 0;
    PacketNumber first = 0;
  };

  // Datagrams have rising numbers.
  void add(std::uint64_t datagram, const std::vector<RunMessage>& runs) {
    for (const RunMessage& run : runs) {
      if (runs_.size() == k_max_runs) runs_.pop_front();
      runs_.push_back({datagram, run.grant, run.first});
    }
  }
  // Takes what the datagram ordered, which is nothing the second time.
  std::vector<Said> take(std::uint64_t datagram) {
    const auto first = std::ranges::lower_bound(runs_, datagram, {}, &Said::datagram);
    const auto end = std::ranges::upper_bound(runs_, datagram, {}, &Said::datagram);
    std::vector<Said> taken(first, end);
    runs_.erase(first, end);
    return taken;
  }

 private:
  std::deque<Said> runs_;
};

}  // namespace sheaf::quic
