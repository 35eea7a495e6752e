#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf::quic {

// A map from 64-bit keys to small values, in one flat array with linear probing. Erasing closes the
// gap, so there are no tombstones, and a map that stays at its working set never allocates.
// UINT64_MAX cannot be a key. The hash is not secret: the user bounds the number of keys that a
// peer may choose.
template <typename Value>
class FlatMap {
 public:
  std::size_t size() const { return size_; }

  // Returns null when the key is absent. The pointer is valid until the next `insert` or `erase`.
  const Value* find(std::uint64_t key) const {
    if (size_ == 0) return nullptr;
    for (std::size_t i = home(key);; i = next(i)) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == k_free) return nullptr;
    }
  }
  // The key must be new.
  void insert(std::uint64_t key, Value value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    place(key, value);
    ++size_;
  }
  bool erase(std::uint64_t key) {
    if (size_ == 0) return false;
    std::size_t hole = home(key);
    while (slots_[hole].key != key) {
      if (slots_[hole].key == k_free) return false;
      hole = next(hole);
    }
    // Moves into the hole every following entry that would not be found behind a free slot.
    for (std::size_t i = next(hole); slots_[i].key != k_free; i = next(i)) {
      const std::size_t distance = (i - home(slots_[i].key)) & mask();
      if (distance < ((i - hole) & mask())) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
    --size_;
    return true;
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != k_free) visit(slot.key, slot.value);
    }
  }

 private:
  static constexpr std::uint64_t k_free = UINT64_MAX;
  struct Slot {
    std::uint64_t key = k_free;
    Value value{};
  };

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t index) const { return (index + 1) & mask(); }
  // Fibonacci hashing: adjacent keys land far apart.
  std::size_t home(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15u) >> shift_; }
  void place(std::uint64_t key, Value value) {
    std::size_t i = home(key);
    while (slots_[i].key != k_free) i = next(i);
    slots_[i] = {key, value};
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 8 : 2 * slots_.size());
    old.swap(slots_);
    shift_ = 64;
    for (std::size_t size = slots_.size(); size > 1; size /= 2) --shift_;
    for (const Slot& slot : old) {
      if (slot.key != k_free) place(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  int shift_ = 64;
};

}  // namespace sheaf::quic
