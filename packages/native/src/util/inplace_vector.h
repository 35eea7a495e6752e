#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace sheaf::quic {

// Up to `capacity` values inside the object itself, like std::inplace_vector of C++26. Unlike an
// array it costs nothing for values that are never added.
template <typename T, std::size_t capacity>
class InplaceVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InplaceVector() {}  // NOLINT: the values stay uninitialized

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Must not be called more than `capacity` times.
  void push_back(const T& value) { std::construct_at(&values_[size_++], value); }
  std::span<const T> view() const { return {values_, size_}; }

 private:
  union {
    T values_[capacity];
  };
  std::size_t size_ = 0;
};

}  // namespace sheaf::quic
