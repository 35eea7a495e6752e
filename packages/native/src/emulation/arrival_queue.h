#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulation/link_datagram.h"
#include "util/ring.h"
#include "util/time.h"

namespace sheaf::quic {

// Holds datagrams until they arrive: the earliest first, and those of one instant in the order in
// which they were added. Most links keep the order, so what arrives no earlier than all before it
// costs nothing but its place; only the others are sorted.
class ArrivalQueue {
 public:
  bool empty() const { return in_order_.empty() && early_.empty(); }
  std::size_t size() const { return in_order_.size() + early_.size(); }
  // When the first one arrives; k_never when there is none
  Time next() const {
    const Time when = in_order_.empty() ? k_never : in_order_.front().when;
    return early_.empty() ? when : std::min(when, early_.front().when);
  }

  void add(Time when, LinkDatagramPointer datagram) {
    Entry entry{when, next_sequence_++, std::move(datagram)};
    if (in_order_.empty() || in_order_.back().when <= when) {
      in_order_.push_back(std::move(entry));
      return;
    }
    early_.push_back(std::move(entry));
    std::push_heap(early_.begin(), early_.end());
  }

  // Takes the first one if it has arrived by now; null when none has.
  LinkDatagramPointer take(Time now) {
    if (next() > now || empty()) return nullptr;
    if (early_.empty() || (!in_order_.empty() && early_.front() < in_order_.front())) {
      LinkDatagramPointer datagram = std::move(in_order_.front().datagram);
      in_order_.pop_front();
      return datagram;
    }
    std::pop_heap(early_.begin(), early_.end());
    LinkDatagramPointer datagram = std::move(early_.back().datagram);
    early_.pop_back();
    return datagram;
  }

 private:
  struct Entry {
    Time when{};
    std::uint64_t sequence = 0;
    LinkDatagramPointer datagram{};
    // Whether it comes after the other one, so that the first one is on top of a heap
    bool operator<(const Entry& other) const {
      return when != other.when ? when > other.when : sequence > other.sequence;
    }
  };

  Ring<Entry> in_order_;
  std::vector<Entry> early_;  // a heap of those that overtook one of `in_order_`
  std::uint64_t next_sequence_ = 0;
};

}  // namespace sheaf::quic
