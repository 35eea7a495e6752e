#include "crypto/replay_record.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

ReplayRecord::ReplayRecord(std::size_t max_bytes) : seen_(max_bytes), seen_before_(max_bytes) {}

std::array<std::uint32_t*, ReplayRecord::k_rows> ReplayRecord::counters(Bytes network) {
  const KeyedHash::Value columns = hash_(network);
  std::array<std::uint32_t*, k_rows> result;
  for (std::size_t row = 0; row < k_rows; ++row) {
    result[row] = &counts_[row * k_columns + columns[row] % k_columns];
  }
  return result;
}

bool ReplayRecord::add(Bytes key, std::chrono::nanoseconds now, Bytes network) {
  if (key.size() < k_identity_length) return false;
  const std::lock_guard lock(mutex_);
  const Bytes identity = key.last(k_identity_length);
  // After the clock was set back, the period begins again, so that it ends.
  begun_ = std::min(begun_, now);
  if (now - begun_ >= k_period) {
    begun_ = now;
    std::swap(seen_, seen_before_);
    seen_.clear();
    std::ranges::fill(counts_, 0);
  }
  if (seen_.size() >= seen_.capacity() || seen_before_.contains(identity)) return false;
  if (network.empty()) return seen_.add(identity);
  const auto recorded = counters(network);
  const auto least = **std::ranges::min_element(
      recorded, [](const std::uint32_t* one, const std::uint32_t* other) { return *one < *other; });
  if (least >= seen_.capacity() - seen_.size() || !seen_.add(identity)) return false;
  for (std::uint32_t* counter : recorded) ++*counter;
  return true;
}

}  // namespace sheaf::quic
