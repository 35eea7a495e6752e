#pragma once

#include <optional>
#include <vector>

#include "http3/error.h"
#include "http3/varint_accumulator.h"

namespace sheaf::http3 {

// RFC 9297 §3.2.
struct Capsule {
  std::uint64_t type = 0;
  quic::Bytes value;
};

// Takes capsules out of a message's body, however it is cut. Types that are not known are skipped
// (RFC 9297 §3.2), whatever their length, without being kept.
class CapsuleReader {
 public:
  using IsKnown = bool (*)(std::uint64_t type);

  // A capsule of a known type that is longer than `max_value` bytes is malformed.
  CapsuleReader(IsKnown is_known, std::size_t max_value)
      : is_known_(is_known), max_value_(max_value) {}

  // Takes bytes from the front of `bytes` up to the end of the next capsule of a known type, which
  // is valid until the next call, or takes all of them.
  quic::Result<std::optional<Capsule>, ConnectionError> next(quic::Bytes& bytes);
  // No capsule has begun: the stream may end here (RFC 9297 §3.3).
  bool at_boundary() const { return header_.empty(); }

 private:
  IsKnown is_known_;
  std::size_t max_value_;
  TypeLengthAccumulator header_;
  bool in_value_ = false;
  std::uint64_t value_left_ = 0;
  std::vector<std::uint8_t> value_;
};

std::vector<std::uint8_t> encode_capsule(const Capsule& capsule);

}  // namespace sheaf::http3
