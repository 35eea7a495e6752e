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

// RFC 9297 §3.5: a datagram of the request on whose stream it stands.
inline constexpr std::uint64_t k_capsule_datagram = 0x00;
// Longest datagram that goes in a capsule, either way. Longer ones are lost, as datagrams may be.
inline constexpr std::size_t k_max_capsule_datagram = 16 << 10;

// The bound of a capsule, and what a longer one means.
struct CapsuleRule {
  std::size_t max_value = 0;
  bool drop_longer = false;  // instead of malformed
};

// Takes capsules out of a message's body, however it is cut. Types that are not known are skipped
// (RFC 9297 §3.2), whatever their length, without being kept.
class CapsuleReader {
 public:
  // Nothing for a type that is not known.
  using RuleOf = std::optional<CapsuleRule> (*)(std::uint64_t type);

  explicit CapsuleReader(RuleOf rule_of) : rule_of_(rule_of) {}

  // Takes bytes from the front of `bytes` up to the end of the next capsule of a known type, which
  // is valid until the next call, or takes all of them.
  quic::Result<std::optional<Capsule>, ConnectionError> next(quic::Bytes& bytes);
  // No capsule has begun: the stream may end here (RFC 9297 §3.3).
  bool at_boundary() const { return header_.empty(); }

 private:
  ConnectionStatus begin_value();

  RuleOf rule_of_;
  TypeLengthAccumulator header_;
  bool in_value_ = false;
  bool kept_ = false;  // the value that is being read
  std::uint64_t value_left_ = 0;
  std::vector<std::uint8_t> value_;
};

std::vector<std::uint8_t> encode_capsule(const Capsule& capsule);

}  // namespace sheaf::http3
