#include "sim/receivers/ngtcp2_receiver.h"

namespace sheaf::quic {

namespace {

// Counts the gaps below the largest number.
std::size_t gaps(const IntervalSet& seen) {
  return seen.size() - (seen.front().start == 0 ? 1 : 0);
}

}  // namespace

bool Ngtcp2Receiver::receive(PacketNumber number, bool ack_eliciting, Time now) {
  if (seen_.contains(number)) return false;
  accept(number, ack_eliciting, now);
  while (gaps(seen_) > k_max_gaps) {
    const std::uint64_t lowest_gap = seen_.first_gap();
    seen_.insert(lowest_gap, seen_.find(lowest_gap)->start);
  }
  return true;
}

}  // namespace sheaf::quic
