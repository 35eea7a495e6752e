#pragma once

#include <memory>
#include <vector>

#include "channel_authentication/verifier.h"
#include "util/random.h"

namespace sheaf::quic {

// Packets that wait for their proof, copied into memory that is allocated once. Nothing is known
// of them but that a member sent them. Where there is no room, chance decides what goes, so that
// who floods the store gains no more than its share (Liu and Ning, random selection for TESLA).
class CandidateStore {
 public:
  static constexpr std::size_t k_ordinary_bytes = 4 << 20;
  // For a fast channel of the scheme `timed`: what waits is some 60 % of the log, which receivers
  // take up to 24 MB of.
  static constexpr std::size_t k_max_bytes = 16 << 20;
  static constexpr std::size_t k_max_candidates = 3;  // of one packet number
  using Slot = std::uint16_t;
  static constexpr Slot k_none = UINT16_MAX;

  struct Candidate {
    PacketNumber number = 0;
    std::uint64_t key_sequence = 0;
    std::uint32_t label = 0;  // of the scheme's own: an interval
    Bytes datagram;
    bool by_group = false;
  };

  // Has room for `bytes` (at most 16 MiB) of datagrams of at most `max_datagram` each.
  CandidateStore(std::size_t bytes, std::size_t max_datagram, Random& random);

  // Returns kWaiting, kDuplicate or kRefused.
  Verdict add(const ReceivedPacket& packet, std::uint32_t label, Time now);

  // Refuses packets below `number` from now on, and those that are too far above.
  void set_low(PacketNumber number);
  PacketNumber low() const { return low_; }
  // From `low` to how far above it numbers may be
  std::size_t reach() const { return entries_.size(); }

  // Takes the candidates of a number out of the store. Their bytes stay until `release`.
  // Returns how many there are.
  std::size_t take(PacketNumber number, std::array<Slot, k_max_candidates>& out);
  // Returns the same without taking them.
  std::size_t peek(PacketNumber number, std::array<Slot, k_max_candidates>& out) const;
  // Takes the next candidate whose label is at most `label`, in the order of arrival. `cursor`
  // begins as `oldest_slot`, and holds as long as nothing else changes the store. Returns k_none at
  // the end.
  Slot take_labelled(std::uint32_t label, Slot& cursor);
  Slot oldest_slot() const { return first_; }
  Candidate candidate(Slot slot) const;
  void release(Slot slot);

  // Drops what came at `time` or before. Returns how many candidates that were.
  std::size_t drop_until(Time time);
  Time oldest() const { return first_ == k_none ? k_never : slots_[first_].arrival; }
  std::uint64_t evicted() const { return evicted_; }
  std::size_t waiting() const { return waiting_; }

 private:
  struct Entry {
    PacketNumber number = k_no_packet_number;
    std::uint32_t seen = 0;  // candidates that came so far
    std::uint8_t count = 0;  // those that are here
    std::array<Slot, k_max_candidates> slots{};
  };
  struct SlotState {
    PacketNumber number = 0;
    std::uint64_t key_sequence = 0;
    Time arrival{};
    std::uint32_t label = 0;
    std::uint16_t length = 0;
    bool waiting = false;
    bool by_group = false;
    Slot previous = k_none;  // in the order of arrival
    Slot next = k_none;
  };

  Entry& entry_of(PacketNumber number) { return entries_[number & (entries_.size() - 1)]; }
  const Entry& entry_of(PacketNumber number) const {
    return entries_[number & (entries_.size() - 1)];
  }
  std::uint8_t* bytes_of(Slot slot) const { return bytes_.get() + slot * slot_size_; }
  bool within_reach(PacketNumber number) const;
  // Returns the slot that has the same bytes, or k_none.
  Slot find_duplicate(const Entry& entry, const ReceivedPacket& packet) const;
  bool give_entry_to(PacketNumber number);
  Slot free_slot();
  void fill(Slot slot, const ReceivedPacket& packet, std::uint32_t label, Time now);
  void unlink(Slot slot);
  void drop(Slot slot);

  std::size_t slot_size_;
  Random& random_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::vector<SlotState> slots_;
  std::vector<Slot> free_;
  std::vector<Entry> entries_;  // by the lowest bits of the number
  PacketNumber low_ = 0;
  bool bounded_ = false;  // whether `low_` is known
  Slot first_ = k_none;
  Slot last_ = k_none;
  std::size_t waiting_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace sheaf::quic
