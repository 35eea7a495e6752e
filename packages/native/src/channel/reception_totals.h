#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "channel/channel_messages.h"

namespace sheaf::quic {

// What all receivers of a channel said, since its begin
struct Reception {
  std::uint64_t received = 0;   // packets from the group
  std::uint64_t lost = 0;       // packets that the group did not bring in time
  std::uint64_t recovered = 0;  // of them, by repairs
  std::uint64_t expired = 0;    // of them, those that never came in time
  std::uint64_t joins = 0;      // receivers that heard the group
  Duration join_delay{};        // of all of these together: from the first state to that one
};

// Adds up what reports and states say. Receivers are not trusted: totals that shrink, or that name
// more packets than were sent, add nothing.
class ReceptionTotals {
 public:
  void add_receiver(std::size_t id) {
    if (id >= last_.size()) last_.resize(id + 1);
    last_[id] = {};
  }
  void on_state(std::size_t id, ListenState state, Time now) {
    Last& last = last_[id];
    if (last.began == Time{}) last.began = now;
    if (state != ListenState::kReceiving || last.began == k_never) return;
    ++sum_.joins;
    sum_.join_delay += now - std::exchange(last.began, k_never);
  }
  // `sent_end` is one above the last packet of the channel.
  void on_report(std::size_t id, const ChannelReport& report, PacketNumber sent_end) {
    Last& last = last_[id];
    const std::uint64_t most =
        std::max({report.received, report.lost, report.recovered, report.expired});
    if (most > sent_end || report.received < last.received || report.lost < last.lost ||
        report.recovered < last.recovered || report.expired < last.expired) {
      return;
    }
    sum_.received += report.received - last.received;
    sum_.lost += report.lost - last.lost;
    sum_.recovered += report.recovered - last.recovered;
    sum_.expired += report.expired - last.expired;
    last.received = report.received;
    last.lost = report.lost;
    last.recovered = report.recovered;
    last.expired = report.expired;
  }
  const Reception& sum() const { return sum_; }

 private:
  struct Last {
    std::uint64_t received = 0;
    std::uint64_t lost = 0;
    std::uint64_t recovered = 0;
    std::uint64_t expired = 0;
    Time began{};  // of the receiver; k_never: it has heard the group
  };
  // With what else a source remembers of a receiver: 2 KiB together
  static_assert(sizeof(Last) <= 40);

  std::vector<Last> last_;  // by receiver
  Reception sum_;
};

}  // namespace sheaf::quic
