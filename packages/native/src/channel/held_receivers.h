#pragma once

#include <vector>

#include "channel/back_off.h"
#include "channel/loss_watch.h"

namespace sheaf::quic {

// Which receivers the source serves by copies although the group reaches them. Repairs for all do
// not follow what these lose. Who lies about its losses gets what it could have asked for: copies
// from the budget of all.
class HeldReceivers {
 public:
  void add_receiver(std::size_t id) {
    if (id >= places_.size()) places_.resize(id + 1);
    places_[id] = {};
    ++receivers_;
  }
  void remove_receiver(std::size_t id) {
    release(places_[id]);
    --receivers_;
  }

  // The receiver hears the group from now on.
  void on_receiving(std::size_t id, PacketNumber sent_end, Time now) {
    places_[id].watch.begin(sent_end, now);
  }
  // A receiver that hears the group reported.
  void on_report(std::size_t id, const ChannelReport& report, PacketNumber sent_end, Time now) {
    Place& place = places_[id];
    if (place.held && now >= place.losses.until()) {
      release(place);
      place.watch.begin(sent_end, now);
    }
    if (place.held || !place.watch.on_report(report, sent_end, now)) return;
    // When many lose that much, it is not their ways. Copies for all of them would not fit.
    if (held_ >= std::max<std::size_t>(receivers_ / k_share, 1)) return;
    place.losses.begin({.shortest = 30s, .longest = 10min}, now);
    place.held = true;
    ++held_;
    ++moves_;
  }

  bool is_held(std::size_t id) const { return places_[id].held; }
  std::size_t held() const { return held_; }
  // How often a receiver was moved, since it lost too much
  std::uint64_t moves() const { return moves_; }

 private:
  // At most one of so many receivers is moved since it loses too much.
  static constexpr std::size_t k_share = 4;

  struct Place {
    LossWatch watch;
    BackOff losses;
    bool held = false;
  };
  void release(Place& place) {
    if (place.held) --held_;
    place.held = false;
  }

  std::vector<Place> places_;  // by receiver
  std::size_t receivers_ = 0;
  std::size_t held_ = 0;
  std::uint64_t moves_ = 0;
};

}  // namespace sheaf::quic
