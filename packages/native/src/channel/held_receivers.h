#pragma once

#include <vector>

#include "channel/back_off.h"
#include "channel/loss_watch.h"
#include "channel/minute_count.h"

namespace sheaf::quic {

// Which receivers the source serves by copies although the group reaches them. Repairs for all do
// not follow what these lose. Who lies about its losses gets what it could have asked for: copies
// from the budget of all.
class HeldReceivers {
 public:
  // `capacity`: for so many receivers the budget of copies has room, at least 1.
  explicit HeldReceivers(std::size_t capacity) : capacity_(capacity) {}

  void add_receiver(std::size_t id) {
    if (id >= places_.size()) places_.resize(id + 1);
    places_[id] = {};
    ++receivers_;
  }
  void remove_receiver(std::size_t id) {
    release(places_[id]);
    --receivers_;
  }

  // The receiver hears the group from now on. One that has lost it too often in a minute is held
  // down.
  void on_receiving(std::size_t id, PacketNumber sent_end, Time now) {
    Place& place = places_[id];
    release_in_time(place, now);
    place.watch.begin(sent_end, now);
    if (place.held || place.falls.at(now) <= k_max_falls) return;
    if (held_ >= capacity_) return;
    place.flaps.begin({.shortest = 1s, .longest = 60s}, now);
    hold(place);
    ++hold_downs_;
  }
  // The receiver heard the group, and does not any more.
  void on_fallen(std::size_t id, Time now) { places_[id].falls.add(now); }
  // A receiver that hears the group reported. `too_slow`: the group's rate is more than its way
  // carries (RateControl).
  void on_report(std::size_t id, const ChannelReport& report, PacketNumber sent_end, bool too_slow,
                 Time now) {
    Place& place = places_[id];
    if (release_in_time(place, now)) place.watch.begin(sent_end, now);
    const bool loses_much = place.watch.on_report(report, sent_end, now);
    if (place.held || !(loses_much || too_slow)) return;
    // When many lose that much, it is not their ways. Copies for all of them would not fit.
    const std::size_t share = std::max<std::size_t>(receivers_ / k_share, 1);
    if (held_ >= std::min(share, capacity_)) return;
    place.losses.begin({.shortest = 30s, .longest = 10min}, now);
    hold(place);
    ++moves_;
  }

  bool is_held(std::size_t id) const { return places_[id].held; }
  std::size_t held() const { return held_; }
  // How often a receiver was moved, since it lost too much
  std::uint64_t moves() const { return moves_; }
  // How often one was held down, since it lost the group too often
  std::uint64_t hold_downs() const { return hold_downs_; }

 private:
  // At most one of so many receivers is moved since it loses too much.
  static constexpr std::size_t k_share = 4;
  static constexpr std::uint32_t k_max_falls = 3;  // in a minute

  struct Place {
    LossWatch watch;
    BackOff losses;
    BackOff flaps;
    MinuteCount falls;
    bool held = false;
  };
  // With what else a source remembers of a receiver: 2 KiB together
  static_assert(sizeof(Place) <= 96);

  void hold(Place& place) {
    place.held = true;
    ++held_;
  }
  void release(Place& place) {
    if (place.held) --held_;
    place.held = false;
  }
  // Returns whether its time is over.
  bool release_in_time(Place& place, Time now) {
    if (!place.held || now < std::max(place.losses.until(), place.flaps.until())) return false;
    release(place);
    return true;
  }

  std::size_t capacity_;
  std::vector<Place> places_;  // by receiver
  std::size_t receivers_ = 0;
  std::size_t held_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t hold_downs_ = 0;
};

}  // namespace sheaf::quic
