#pragma once

#include <cstdint>
#include <optional>

#include "util/bytes.h"

namespace sheaf::quic {

enum class PayloadRead : std::uint8_t {
  kDone,
  kNotThere,  // not all bytes are there yet, or not any more
  kBroken,    // some never will be: the response cannot be completed
};

// The bytes of one stream that a backend sends. Offsets are those of the stream, so the bytes at an
// offset never change (RFC 9000 §2.2).
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  // Returns the end of the bytes that are there.
  virtual std::uint64_t available() const = 0;
  // A path of its own (own_recovery/) needs the offset of the first byte that the source ever had,
  // and the end of the stream, which some do not know.
  virtual std::uint64_t begin() const { return 0; }
  virtual std::optional<std::uint64_t> end() const { return std::nullopt; }
  // Copies bytes. What it has written is of no use unless it returns kDone.
  [[nodiscard]] virtual PayloadRead read(std::uint64_t offset, MutableBytes out) = 0;
  // The client has everything before `offset`, which is never read again.
  virtual void release(std::uint64_t offset) = 0;
};

}  // namespace sheaf::quic
