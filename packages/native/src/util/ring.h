#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace sheaf::quic {

// A queue in one array whose size is a power of two, and which is reused once it has grown to the
// working set. Elements that leave are replaced by T{}, so that the resources they own are freed at
// once.
template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }

  T& operator[](std::size_t index) { return slots_[wrap(index)]; }
  const T& operator[](std::size_t index) const { return slots_[wrap(index)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) grow();
    slots_[wrap(size_++)] = std::move(value);
  }
  void pop_front() {
    assert(size_ > 0);
    slots_[head_] = T{};
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
  }
  // Removes the elements that match; the others keep their order.
  template <typename Matches>
  void erase_if(Matches&& matches) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (matches(std::as_const((*this)[i]))) continue;
      if (kept != i) (*this)[kept] = std::move((*this)[i]);
      ++kept;
    }
    while (size_ > kept) (*this)[--size_] = T{};
  }
  void clear() {
    while (!empty()) pop_front();
    head_ = 0;
  }
  // Also frees the array when it is larger than `capacity` elements.
  void clear_and_keep(std::size_t capacity) {
    clear();
    if (capacity_ <= capacity) return;
    slots_.reset();
    capacity_ = 0;
  }

 private:
  std::size_t wrap(std::size_t index) const { return (head_ + index) & (capacity_ - 1); }
  void grow() {
    const std::uint32_t larger = capacity_ == 0 ? 4 : 2 * capacity_;
    auto slots = std::make_unique<T[]>(larger);
    for (std::size_t i = 0; i < size_; ++i) slots[i] = std::move((*this)[i]);
    slots_ = std::move(slots);
    capacity_ = larger;
    head_ = 0;
  }

  std::unique_ptr<T[]> slots_;
  std::uint32_t capacity_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace sheaf::quic
