#pragma once

#include <algorithm>
#include <array>

#include "util/bytes.h"

namespace sheaf::http3 {

// Collects a variable-length integer whose bytes may arrive one at a time.
class VarintAccumulator {
 public:
  // Takes bytes until the integer is complete, and returns how many it took.
  std::size_t append(quic::Bytes bytes) {
    std::size_t taken = 0;
    while (taken < bytes.size() && !complete()) buffer_[size_++] = bytes[taken++];
    return taken;
  }
  bool empty() const { return size_ == 0; }
  bool complete() const { return size_ > 0 && size_ == std::size_t{1} << (buffer_[0] >> 6); }
  // Valid once `complete`.
  std::uint64_t value() const { return quic::Reader(raw()).read_varint(); }
  // Returns the bytes as they arrived.
  quic::Bytes raw() const { return {buffer_.data(), size_}; }
  void reset() { size_ = 0; }

 private:
  std::array<std::uint8_t, 8> buffer_{};
  std::size_t size_ = 0;
};

// Collects the type and the length that begin every HTTP/3 frame (RFC 9114 §7.1) and every capsule
// (RFC 9297 §3.2).
class TypeLengthAccumulator {
 public:
  std::size_t append(quic::Bytes bytes) {
    const std::size_t taken = type_.append(bytes);
    return type_.complete() ? taken + length_.append(bytes.subspan(taken)) : taken;
  }
  bool empty() const { return type_.empty(); }
  bool type_complete() const { return type_.complete(); }
  bool complete() const { return length_.complete(); }
  std::uint64_t type() const { return type_.value(); }
  std::uint64_t length() const { return length_.value(); }
  quic::Bytes raw_type() const { return type_.raw(); }
  quic::Bytes raw_length() const { return length_.raw(); }
  void reset() {
    type_.reset();
    length_.reset();
  }

 private:
  VarintAccumulator type_;
  VarintAccumulator length_;
};

}  // namespace sheaf::http3
