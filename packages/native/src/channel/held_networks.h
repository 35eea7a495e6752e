#pragma once

#include <algorithm>
#include <map>

#include "channel/back_off.h"
#include "channel/minute_count.h"
#include "util/network_key.h"

namespace sheaf::quic {

// Which networks may not join a channel for a while, since clients of theirs join and leave it
// again and again: each time costs a key and copies from the start of a group. Networks are held
// down, and not connections, since a client has a new connection whenever it likes.
class HeldNetworks {
 public:
  // `capacity`: so many networks are remembered of which nobody is in the channel.
  explicit HeldNetworks(std::size_t capacity = 4096) : capacity_(capacity) {}

  // A time that is over: clients of the network may join.
  Time held_until(const NetworkKey& network) const {
    const auto found = networks_.find(network);
    return found == networks_.end() ? Time{} : found->second.waits.until();
  }
  void on_joined(const NetworkKey& network) {
    const auto [place, is_new] = networks_.try_emplace(network);
    if (!is_new && place->second.present == 0) --absent_;
    ++place->second.present;
  }
  // A client left that joined at `joined`.
  void on_left(const NetworkKey& network, Time joined, Time now) {
    const auto found = networks_.find(network);
    Place& place = found->second;
    --place.present;
    if (now < joined + k_minute) on_short_stay(place, now);
    if (place.present > 0) return;
    if (place.is_calm(now)) {
      networks_.erase(found);
    } else if (++absent_ > capacity_) {
      forget_calmest(now);
    }
  }

  // Networks that are held down now
  std::size_t held(Time now) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        networks_, [now](const auto& each) { return now < each.second.waits.until(); }));
  }
  // How often one was held down
  std::uint64_t hold_downs() const { return hold_downs_; }
  // Networks that are remembered
  std::size_t size() const { return networks_.size(); }

 private:
  // A stay below it is short.
  static constexpr Duration k_minute = 60s;
  // Short stays of a network in a minute that cost nothing
  static constexpr std::uint32_t k_max_short_stays = 10;

  struct Place {
    BackOff waits;
    MinuteCount short_stays;
    std::uint32_t present = 0;  // clients that are in the channel

    bool is_calm(Time now) const { return waits.is_calm(now) && short_stays.at(now) == 0; }
  };

  void on_short_stay(Place& place, Time now) {
    place.short_stays.add(now);
    // Many clients may share an address. Each that stays permits a short stay of another.
    const bool are_many = place.short_stays.at(now) > k_max_short_stays + place.present;
    if (!are_many || now < place.waits.until()) return;
    place.waits.begin({.shortest = 1s, .longest = 60s}, now);
    ++hold_downs_;
  }
  // Forgets absent networks that did nothing lately, or else the one whose hold ends first.
  void forget_calmest(Time now) {
    auto calmest = networks_.end();
    for (auto each = networks_.begin(); each != networks_.end();) {
      const Place& place = each->second;
      const auto next = std::next(each);
      if (place.present == 0 && place.is_calm(now)) {
        networks_.erase(each);
        --absent_;
      } else if (place.present == 0 && (calmest == networks_.end() ||
                                        place.waits.until() < calmest->second.waits.until())) {
        calmest = each;
      }
      each = next;
    }
    if (absent_ <= capacity_) return;
    networks_.erase(calmest);
    --absent_;
  }

  std::size_t capacity_;
  std::map<NetworkKey, Place> networks_;
  std::size_t absent_ = 0;  // of these, those of which nobody is in the channel
  std::uint64_t hold_downs_ = 0;
};

}  // namespace sheaf::quic
