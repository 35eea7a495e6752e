#pragma once

#include <algorithm>
#include <vector>

#include "util/random.h"
#include "util/time.h"

namespace sheaf::quic {

// When receivers that lost the group get their copies. A tree that fails takes it from all of them
// at once, for whom the budget may not suffice: each would get a part of every frame. So as many as
// fit begin at once, and another one whenever the budget has nothing to do. Who keeps the budget
// busy keeps nobody out for long: after a random time each begins.
class CopyAdmission {
 public:
  // `capacity`: for so many receivers the budget of copies has room, at least 1.
  explicit CopyAdmission(std::size_t capacity) : capacity_(capacity) {}

  void add_receiver(std::size_t id) {
    if (id >= places_.size()) places_.resize(id + 1);
  }
  // The receiver lost the group.
  void on_fallen(std::size_t id, Random& random, Time now) {
    forget(id);
    Place& place = places_[id];
    place.fallen = true;
    if (++fallen_ <= capacity_) return;
    place.latest = now + k_patience + share_of(k_spread, random.uniform());
    next_ = std::min(next_, place.latest);
    ++waiting_;
  }
  // It has the group again, or has left.
  void forget(std::size_t id) {
    if (waits(id)) --waiting_;
    if (places_[id].fallen) --fallen_;
    places_[id] = {};
  }

  // Lets those begin whose time has come, and one of the others when the budget is idle.
  void admit(bool is_idle, Time now) {
    if (waiting_ == 0 || (!is_idle && now < next_)) return;
    next_ = k_never;
    bool has_room = is_idle;
    for (Place& place : places_) {
      if (place.latest == k_never) continue;
      if (place.latest > now && !has_room) {
        next_ = std::min(next_, place.latest);
        continue;
      }
      has_room = has_room && place.latest <= now;
      place.latest = k_never;
      --waiting_;
    }
  }
  // `idle_at`: when the budget has nothing to do, if nobody takes copies until then
  Time next_timeout(Time idle_at) const {
    return waiting_ > 0 ? std::min(next_, idle_at) : k_never;
  }
  bool waits(std::size_t id) const { return places_[id].latest != k_never; }
  std::size_t waiting() const { return waiting_; }

 private:
  static constexpr Duration k_patience = 30s;
  static constexpr Duration k_spread = 60s;

  struct Place {
    Time latest = k_never;  // when it begins at the latest; k_never: it does not wait
    bool fallen = false;
  };

  std::size_t capacity_;
  std::vector<Place> places_;  // by receiver
  std::size_t fallen_ = 0;
  std::size_t waiting_ = 0;
  Time next_ = k_never;
};

}  // namespace sheaf::quic
