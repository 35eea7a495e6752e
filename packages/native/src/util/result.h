#pragma once

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

namespace sheaf::quic {

// A value, or the reason why there is none. `E` is TransportError where the peer broke a rule, and
// a local enumeration where the call itself was refused.
template <typename T, typename E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  E& error() { return std::get<1>(state_); }
  const E& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, E> state_;
};

// Success, or the reason for a failure. Costs little on success.
template <typename E>
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(E error) : error_(std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const { return !error_.has_value(); }
  const E& error() const { return *error_; }

 private:
  std::optional<E> error_;
};

}  // namespace sheaf::quic
