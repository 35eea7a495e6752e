#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "http3/error.h"
#include "http3/varint_accumulator.h"

namespace sheaf::http3 {

// Holds a capsule of the Capsule Protocol (RFC 9297 §3.2).
struct Capsule {
  std::uint64_t type = 0;
  quic::Bytes value;
};

// Type of a DATAGRAM capsule (RFC 9297 §3.5), which carries a datagram of the request on its
// stream.
inline constexpr std::uint64_t k_capsule_datagram = 0x00;
// Maximum payload, in bytes, of a datagram in a capsule, sent or received. Longer ones are dropped,
// as datagrams may be lost anyway.
inline constexpr std::size_t k_max_capsule_datagram = 16 << 10;

// Bounds the value of a capsule type.
struct CapsuleRule {
  std::size_t max_value = 0;         // a longer one is an error of the message
  std::size_t max_kept = max_value;  // a longer one is dropped
};
// Drops longer datagrams, whatever length they have.
inline constexpr CapsuleRule k_datagram_rule{std::numeric_limits<std::size_t>::max(),
                                             k_max_capsule_datagram};

// Reads capsules from the body of a message, whatever pieces it arrives in. Capsules of unknown
// types are skipped (RFC 9297 §3.2): they may be of any length, since their values are not kept.
class CapsuleReader {
 public:
  // Returns the rule of a capsule type, or nothing when the type is unknown.
  using RuleOf = std::optional<CapsuleRule> (*)(std::uint64_t type);

  explicit CapsuleReader(RuleOf rule_of) : rule_of_(rule_of) {}

  // Removes bytes from the front of `bytes` up to the end of the next capsule of a known type, and
  // returns this capsule, which is valid until the next call. Removes all bytes and returns nothing
  // when no such capsule is complete yet.
  quic::Result<std::optional<Capsule>, ConnectionError> next(quic::Bytes& bytes);
  // Returns true between two capsules, which is where the stream may end (RFC 9297 §3.3).
  bool at_boundary() const { return header_.empty(); }
  // How many capsules of known types were dropped for their length; begins anew after the maximum
  std::uint32_t dropped() const { return dropped_; }
  // Frees memory that only the next capsule needs.
  void release_spare();

 private:
  ConnectionStatus begin_value();

  RuleOf rule_of_;
  TypeLengthAccumulator header_;
  bool in_value_ = false;
  bool kept_ = false;  // the value that is being read belongs to a known type
  std::uint32_t dropped_ = 0;
  std::uint64_t value_left_ = 0;
  std::vector<std::uint8_t> value_;
};

std::vector<std::uint8_t> encode_capsule(const Capsule& capsule);

}  // namespace sheaf::http3
