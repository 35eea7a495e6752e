#pragma once

#include <cassert>
#include <memory>

#include "util/bytes.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// The log of a channel: the newest packets by their numbers, in one allocation. Slots have the size
// of the longest packet, so that packets of that size lie side by side, and one call of the kernel
// sends them without a copy (UDP_SEGMENT). Forgets what lies out of reach.
class PacketRing {
 public:
  PacketRing(std::size_t packet_size, std::size_t reach)
      : packet_size_(packet_size),
        reach_(reach),
        bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(packet_size * reach)),
        entries_(std::make_unique<Entry[]>(reach)) {}

  PacketNumber oldest() const { return oldest_; }  // lower ones are forgotten
  PacketNumber end() const { return end_; }        // one above the highest that came in reach

  // Returns room for a packet, and forgets what it brings out of reach. The room has the bytes of
  // the packet if there is one already. Returns nothing for a number that is forgotten.
  MutableBytes room(PacketNumber number) {
    if (number < oldest_) return {};
    if (number >= end_) {
      if (number - oldest_ >= reach_) forget_before(number - reach_ + 1);
      end_ = number + 1;
    }
    return {bytes_.get() + index(number) * packet_size_, packet_size_};
  }
  // Stores the packet whose bytes are in its room.
  void keep(PacketNumber number, std::size_t length, Time now) {
    assert(number >= oldest_ && number < end_ && length > 0 && length <= packet_size_);
    entries_[index(number)] = {now, static_cast<std::uint32_t>(length)};
  }

  bool contains(PacketNumber number) const {
    return number >= oldest_ && number < end_ && entries_[index(number)].length > 0;
  }
  // Returns an empty span for a packet that is not there. It is valid until it is forgotten.
  Bytes find(PacketNumber number) const {
    if (!contains(number)) return {};
    return {bytes_.get() + index(number) * packet_size_, entries_[index(number)].length};
  }
  // When it was kept. The packet must be there.
  Time kept_at(PacketNumber number) const { return entries_[index(number)].kept; }

  // Returns the bytes of the packets that lie side by side from a number on, at most `most` of
  // them: all have the full size, except for the last.
  Bytes side_by_side(PacketNumber first, std::size_t most) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < most && index(first) + i < reach_; ++i) {
      const std::size_t length = find(first + i).size();
      bytes += length;
      if (length < packet_size_) break;
    }
    return {bytes_.get() + index(first) * packet_size_, bytes};
  }

  // Forgets packets with lower numbers.
  void forget_before(PacketNumber number) {
    for (PacketNumber old = oldest_; old < number && old < end_; ++old) entries_[index(old)] = {};
    if (number > oldest_) oldest_ = number;
    if (oldest_ > end_) end_ = oldest_;
  }

 private:
  struct Entry {
    Time kept{};
    std::uint32_t length = 0;  // 0: no packet
  };
  std::size_t index(PacketNumber number) const { return number % reach_; }

  std::size_t packet_size_;
  std::size_t reach_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::unique_ptr<Entry[]> entries_;
  PacketNumber oldest_ = 0;
  PacketNumber end_ = 0;
};

}  // namespace sheaf::quic
