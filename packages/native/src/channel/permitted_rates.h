#pragma once

#include <algorithm>
#include <vector>

#include "util/time.h"

namespace sheaf::quic {

// What a receiver permits, by its last report
struct PermittedRate {
  std::size_t receiver = 0;
  double rate = 0;        // bytes per second
  Duration round_trip{};  // of the receiver's connection
  Time reported{};
};

// The lowest rates that receivers permit. Of these, the lowest is that of the current limiting
// receiver (RFC 4654), and the next one takes its place when it leaves or falls silent. So few are
// remembered because whoever permits less than what is sent loses something, and reports again.
class PermittedRates {
 public:
  PermittedRates() { rates_.reserve(k_remembered + 1); }

  // Replaces what the receiver permitted before.
  void set(const PermittedRate& permitted) {
    forget(permitted.receiver);
    // The newest is the first of equal ones.
    rates_.insert(std::ranges::lower_bound(rates_, permitted.rate, {}, &PermittedRate::rate),
                  permitted);
    if (rates_.size() > k_remembered) rates_.pop_back();
  }
  void forget(std::size_t receiver) {
    std::erase_if(rates_, [&](const PermittedRate& each) { return each.receiver == receiver; });
  }
  // Forgets who has not reported since then.
  void forget_silent(Time since) {
    std::erase_if(rates_, [&](const PermittedRate& each) { return each.reported < since; });
  }
  // Null: nobody limits the rate.
  const PermittedRate* lowest() const { return rates_.empty() ? nullptr : rates_.data(); }

 private:
  static constexpr std::size_t k_remembered = 16;

  std::vector<PermittedRate> rates_;  // from the lowest up
};

}  // namespace sheaf::quic
