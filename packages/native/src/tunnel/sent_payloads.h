#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "util/bytes.h"
#include "util/ring.h"

namespace sheaf::quic {

// Keeps the payloads of datagrams until their fate is known, so that lost ones can be sent again
// (RMDT). Bounded in bytes: the oldest are forgotten, and then remain lost. Buffers are reused.
class SentPayloads {
 public:
  explicit SentPayloads(std::size_t limit) : limit_(limit) {}

  // Whose payload it is, and the payload
  struct Lost {
    std::uint64_t owner;
    Bytes payload;
  };

  // Copies a payload that is sent now. Returns its identifier.
  std::uint64_t keep(Bytes payload, std::uint64_t owner);
  void on_acknowledged(std::uint64_t identifier) { release(identifier); }
  // Returns the payload of a lost datagram, valid until the next `keep`; nothing when it is
  // forgotten, or was reported before. The identifier is not used any more.
  std::optional<Lost> take_lost(std::uint64_t identifier);

  // Returns the oldest payload of unknown fate that was copied less often than that, valid until
  // the next call; nothing when there is none.
  std::optional<Bytes> to_copy(std::uint8_t copies);
  // Called when what `to_copy` has just returned was sent.
  void on_copied() { ++kept_[copied_].copies; }

  std::size_t bytes() const { return bytes_; }
  // Payloads of unknown fate
  std::size_t size() const { return size_; }
  // Frees buffers that wait for the next payload.
  void release_spare();
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  struct Kept {
    std::vector<std::uint8_t> payload;
    std::uint64_t owner = 0;
    bool known = false;  // the fate
    std::uint8_t copies = 0;
  };
  bool holds(std::uint64_t identifier) const {
    return identifier >= first_ && identifier - first_ < kept_.size() &&
           !kept_[identifier - first_].known;
  }
  void release(std::uint64_t identifier);
  void drop_settled();

  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::size_t size_ = 0;
  std::uint64_t first_ = 0;  // identifier of the first kept one
  std::size_t copied_ = 0;
  Ring<Kept> kept_;
  std::vector<std::vector<std::uint8_t>> spare_;
  std::vector<std::uint8_t> lost_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace sheaf::quic
