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
    reach_out_to(number);
    return slot(number);
  }
  // Stores the packet whose bytes are in its room.
  void keep(PacketNumber number, std::size_t length, Time now) {
    assert(number >= oldest_ && number < end_);
    keep_in_slot(number, number, length, now);
  }

  // For a source, which writes packets before it numbers them: slots by their position, modulo the
  // reach. The caller forgets the packet of a slot before it uses the slot again.
  MutableBytes slot(std::uint64_t position) {
    return {bytes_.get() + index(position) * packet_size_, packet_size_};
  }
  void keep_in_slot(PacketNumber number, std::uint64_t position, std::size_t length, Time now) {
    assert(number >= oldest_ && length > 0 && length <= packet_size_);
    reach_out_to(number);
    entries_[index(number)] = {now, static_cast<std::uint32_t>(length),
                               static_cast<std::uint32_t>(index(position))};
  }

  bool contains(PacketNumber number) const {
    return number >= oldest_ && number < end_ && entries_[index(number)].length > 0;
  }
  // Returns an empty span for a packet that is not there. It is valid until it is forgotten.
  Bytes find(PacketNumber number) const {
    if (!contains(number)) return {};
    const Entry& entry = entries_[index(number)];
    return {bytes_.get() + entry.slot * packet_size_, entry.length};
  }
  // When it was kept. The packet must be there.
  Time kept_at(PacketNumber number) const { return entries_[index(number)].kept; }

  // Returns the bytes of the packets that lie side by side from a number on, at most `most` of
  // them: all have the full size, except for the last.
  Bytes side_by_side(PacketNumber first, std::size_t most) const {
    const Bytes begin = find(first);
    std::size_t bytes = begin.size();
    for (std::size_t i = 1; i < most && bytes == i * packet_size_; ++i) {
      const Bytes next = find(first + i);
      if (next.data() != begin.data() + bytes) break;
      bytes += next.size();
    }
    return {begin.data(), most == 0 ? 0 : bytes};
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
    std::uint32_t slot = 0;
  };
  std::size_t index(std::uint64_t number) const { return number % reach_; }
  void reach_out_to(PacketNumber number) {
    if (number < end_) return;
    if (number - oldest_ >= reach_) forget_before(number - reach_ + 1);
    end_ = number + 1;
  }

  std::size_t packet_size_;
  std::size_t reach_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::unique_ptr<Entry[]> entries_;
  PacketNumber oldest_ = 0;
  PacketNumber end_ = 0;
};

}  // namespace sheaf::quic
