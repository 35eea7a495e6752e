#include "recovery/pacer.h"

namespace sheaf::quic {

namespace {

constexpr std::uint64_t k_burst_datagrams = 10;
constexpr Duration k_burst_time = std::chrono::milliseconds(2);
// 8 Tbit/s. Beyond that pacing only costs time, and products would not fit into 64 bits.
constexpr std::uint64_t k_max_rate = 1'000'000'000'000;

}  // namespace

void Pacer::set_rate(std::uint64_t rate, std::uint64_t max_datagram_size, Time now) {
  const bool was_paced = rate_ != 0;
  const std::uint64_t saved = budget(now);
  datagram_ = max_datagram_size;
  rate_ = rate > k_max_rate ? 0 : rate;
  if (rate_ == 0) return;
  set_burst();
  if (!was_paced) {
    empty_at_ = now - full_after_;
  } else if (saved > 0) {
    empty_at_ = now - std::min(time_for(saved), full_after_);
  }
}

void Pacer::set_burst() {
  full_after_ = std::max(time_for(k_burst_datagrams * datagram_), k_burst_time);
  if (longest_burst_ != k_no_limit) {
    full_after_ = std::min(full_after_, time_for(longest_burst_ * datagram_));
  }
}

}  // namespace sheaf::quic
