#include "io/wake_moderation.h"

#include <algorithm>

namespace sheaf::io {

namespace {

using quic::Duration;
using quic::Time;
using namespace std::chrono_literals;

// Part of the datagrams that may be others than acknowledgements.
constexpr double k_prompt_part = 0.125;
// Inverse weight of the newest value in an average.
constexpr int k_weight = 4;
// Part of earlier counts that each read keeps.
constexpr double k_memory = 0.9;
// The round trip of a connection that received nothing for so long does not count.
constexpr Duration k_active = 20ms;
// Longer intervals count as this one. So pauses begin after some reads in a row.
constexpr Duration k_rare = 4ms;

}  // namespace

void WakeModeration::count(const quic::Arrivals& arrivals, Time now) {
  datagrams_ = datagrams_ * k_memory + static_cast<double>(arrivals.datagrams);
  prompt_ = prompt_ * k_memory + static_cast<double>(arrivals.prompt);
  if (arrivals.round_trip > round_trip_ && now < round_trip_until_) return;
  round_trip_ = arrivals.round_trip;
  round_trip_until_ = now + k_active;
}

bool WakeModeration::worth_pausing(std::size_t datagrams, Duration pause, Duration since) {
  if (!pausing_) {
    interval_ += (since - interval_) / k_weight;
    empty_reads_ = 0;
    per_read_ = k_weight * k_worth_pausing;
    return interval_ * k_wakes_saved <= pause;
  }
  interval_ = k_rare;
  empty_reads_ = datagrams == 0 ? empty_reads_ + 1 : 0;
  per_read_ += (static_cast<double>(datagrams) - per_read_) / k_weight;
  return empty_reads_ < k_empty_reads && per_read_ >= k_worth_pausing;
}

Time WakeModeration::on_read(const quic::Arrivals& arrivals, Time now) {
  const Duration since = std::min<Duration>(now - last_read_, k_rare);
  last_read_ = now;
  count(arrivals, now);
  const Duration pause = std::min(k_longest, round_trip_ / k_round_trip_part);
  const bool worth = worth_pausing(arrivals.datagrams, pause, since);
  pausing_ = worth && pause >= k_shortest && prompt_ <= datagrams_ * k_prompt_part;
  return pausing_ ? now + pause : now;
}

}  // namespace sheaf::io
