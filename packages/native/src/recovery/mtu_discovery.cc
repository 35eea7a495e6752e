#include "recovery/mtu_discovery.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

namespace {

// MAX_PROBES of RFC 8899 §5.1.2: random loss does not explain so many losses.
constexpr std::uint8_t k_max_probes = 3;
// PMTU_RAISE_TIMER of RFC 8899 §5.1.1.
constexpr Duration k_raise_interval = std::chrono::minutes(10);
// The smallest gain in bytes that is worth a lost packet.
constexpr int k_resolution = 20;

}  // namespace

MtuDiscovery::MtuDiscovery(std::uint16_t initial, std::uint16_t maximum, std::uint16_t jumbo)
    : current_(std::max(initial, k_base)),
      maximum_(std::max(maximum, current_)),
      ordinary_(maximum_),
      jumbo_(maximum > k_base && jumbo > maximum_ + k_resolution ? jumbo : std::uint16_t{0}),
      too_large_(static_cast<std::uint16_t>(std::min(maximum_ + 1, 65535))),
      candidate_(maximum_ > current_ ? maximum_ : 0) {}

std::optional<std::uint16_t> MtuDiscovery::probe_due(Time now) const {
  if (probe_outstanding_) return std::nullopt;
  if (candidate_ != 0) return candidate_;
  if (now >= resume_at_) return maximum_;
  return std::nullopt;
}

void MtuDiscovery::on_probe_sent(std::uint16_t size, Time) {
  if (candidate_ == 0) {
    // The search resumes, since the path may carry more now.
    too_large_ = static_cast<std::uint16_t>(std::min(maximum_ + 1, 65535));
    losses_ = 0;
  }
  candidate_ = size;
  probe_outstanding_ = true;
}

void MtuDiscovery::search(Time now) {
  losses_ = 0;
  probe_outstanding_ = false;
  const int gap = too_large_ - current_;
  if (current_ == maximum_) {
    candidate_ = 0;
    resume_at_ = k_never;
  } else if (too_large_ > maximum_) {
    candidate_ = maximum_;  // it was not tried yet
  } else if (gap <= k_resolution) {
    candidate_ = 0;
    resume_at_ = now + k_raise_interval;
  } else {
    candidate_ = static_cast<std::uint16_t>(current_ + gap / 2);
  }
}

void MtuDiscovery::on_probe_acknowledged(std::uint16_t size, Time now) {
  // A late acknowledgement of an earlier, smaller probe tells nothing new.
  if (size <= current_ || size > maximum_) return;
  current_ = size;
  too_large_ = std::max(too_large_, static_cast<std::uint16_t>(std::min(size + 1, 65535)));
  search(now);
}

void MtuDiscovery::on_probe_lost(std::uint16_t size, Time now) {
  if (!probe_outstanding_ || size != candidate_) return;
  probe_outstanding_ = false;
  if (++losses_ < k_max_probes) return;
  if (size > ordinary_) {
    maximum_ = ordinary_;
    too_large_ = static_cast<std::uint16_t>(ordinary_ + 1);
  } else {
    too_large_ = size;
  }
  search(now);
}

void MtuDiscovery::on_carried(std::uint16_t size) {
  if (size <= current_) return;
  current_ = std::min(size, maximum_);
  if (current_ == maximum_) candidate_ = 0;
}

void MtuDiscovery::try_first(std::uint16_t size) {
  if (candidate_ == maximum_ && size > current_ + k_resolution && size < maximum_)
    candidate_ = size;
}

void MtuDiscovery::try_jumbo() {
  if (jumbo_ == 0 || current_ != maximum_) return;
  maximum_ = candidate_ = std::exchange(jumbo_, std::uint16_t{0});
  too_large_ = static_cast<std::uint16_t>(std::min(maximum_ + 1, 65535));
  losses_ = 0;
}

void MtuDiscovery::on_acknowledged(std::uint16_t largest) {
  if (largest > ordinary_) suspicions_ = 0;
}

void MtuDiscovery::on_lost(std::uint16_t largest, Time sent, Time now) {
  // Losses of earlier jumbo frames are still reported after the path has fallen back.
  if (current_ <= ordinary_ || largest <= ordinary_) return;
  // A queue that was full for a moment costs frames of one flight; many ACKs report their losses.
  if (sent <= suspected_at_) return;
  suspected_at_ = now;
  if (++suspicions_ == k_max_probes) on_black_hole(now);
}

void MtuDiscovery::on_black_hole(Time now) {
  maximum_ = ordinary_;
  if (current_ == k_base) return;
  const bool had_jumbo = current_ > ordinary_;
  // The size that just failed is not tried first: the search starts in the middle.
  too_large_ = std::min(current_, static_cast<std::uint16_t>(ordinary_ + 1));
  current_ = k_base;
  suspicions_ = 0;
  search(now);
  // Without jumbo frames the path may carry the size that it carried before them.
  if (had_jumbo && candidate_ != 0) candidate_ = ordinary_;
}

}  // namespace sheaf::quic
