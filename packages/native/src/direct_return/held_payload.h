#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "direct_return/payload_source.h"
#include "stream/send_chunk.h"

namespace sheaf::quic {

// Bytes that exist nowhere else, such as those of an upstream's response, or that are in memory
// anyway. They are held until the client has them.
class HeldPayload final : public PayloadSource {
 public:
  // Whoever appends waits while this many are held.
  static constexpr std::size_t k_max_held = 512 << 10;

  // `start` is the offset in the stream of the first byte that is appended.
  explicit HeldPayload(std::uint64_t start) : start_(start), released_(start), end_(start) {}

  // Returns how many bytes should be appended at most.
  std::size_t room() const;
  // Appends a copy, which shares memory with its neighbours: many short ones take little more.
  void append(Bytes bytes);
  // Appends bytes that are lent until the client has all of them.
  void append(SendChunk chunk);

  std::uint64_t begin() const override { return start_; }
  std::uint64_t available() const override { return end_; }
  [[nodiscard]] PayloadRead read(std::uint64_t offset, MutableBytes out) override;
  void release(std::uint64_t offset) override;

 private:
  // One or the other
  struct Piece {
    std::uint64_t start = 0;
    SendChunk lent;
    std::vector<std::uint8_t> copied;

    Bytes bytes() const { return copied.empty() ? lent.bytes() : Bytes(copied); }
    std::uint64_t end() const { return start + bytes().size(); }
  };

  std::deque<Piece> pieces_;  // in order, without gaps
  std::uint64_t start_;
  std::uint64_t released_;  // the client has everything before this offset
  std::uint64_t end_;
};

}  // namespace sheaf::quic
