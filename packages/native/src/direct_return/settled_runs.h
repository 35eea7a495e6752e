#pragma once

#include <algorithm>
#include <array>

#include "util/interval_set.h"
#include "wire/types.h"

namespace sheaf::quic {

// What a backend did with the runs of one connection. The gateway takes an ACK of a refused run for
// a violation. So a run that was sent is never reported as refused, and one that was refused is
// never sent, although messages may be repeated.
class SettledRuns {
 public:
  enum class Answer : std::uint8_t {
    kNew,
    kSettled,  // it was sent or refused before, or may have been: say nothing
  };

  // `next_run` is above all numbers that were sent.
  Answer look_up(PacketNumber first, PacketNumber next_run) const {
    if (first < floor_ || refused_.contains(first)) return Answer::kSettled;
    if (first >= next_run) return Answer::kNew;
    const auto end = sent_.begin() + std::ptrdiff_t(std::min<std::size_t>(count_, sent_.size()));
    if (std::find(sent_.begin(), end, first) != end) return Answer::kSettled;
    // Not among those that are remembered: it may be older.
    const bool forgot_some = count_ > sent_.size();
    return forgot_some && first < *std::min_element(sent_.begin(), end) ? Answer::kSettled
                                                                        : Answer::kNew;
  }
  void on_sent(PacketNumber first) { sent_[count_++ % sent_.size()] = first; }
  void on_refused(PacketNumber first) {
    refused_.insert(first);
    if (refused_.size() <= k_max_refused) return;
    floor_ = refused_.front().end;
    refused_.pop_front();
  }

 private:
  static constexpr std::size_t k_max_sent = 64;
  static constexpr std::size_t k_max_refused = 64;

  std::array<PacketNumber, k_max_sent> sent_{};  // first numbers, the newest over the oldest
  std::size_t count_ = 0;                        // of runs that were sent
  IntervalSet refused_;                          // first numbers
  PacketNumber floor_ = 0;                       // lower ones count as settled
};

}  // namespace sheaf::quic
