#include "channel_authentication/candidate_store.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace sheaf::quic {
namespace {

// A flight of the greatest length is always within reach.
constexpr std::size_t k_min_entries = std::bit_ceil(k_max_flight_packets);

}  // namespace

CandidateStore::CandidateStore(std::size_t bytes, std::size_t max_datagram, Random& random)
    : slot_size_(max_datagram), random_(random) {
  assert(max_datagram > 0 && max_datagram <= UINT16_MAX);
  const std::size_t count =
      std::clamp<std::size_t>(std::min(bytes, k_max_bytes) / slot_size_, 1, k_none - 1);
  bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(count * slot_size_);
  slots_.resize(count);
  entries_.resize(std::max(k_min_entries, std::bit_ceil(2 * count)));
  free_.reserve(count);
  for (std::size_t i = count; i > 0; --i) free_.push_back(static_cast<Slot>(i - 1));
}

void CandidateStore::set_low(PacketNumber number) {
  if (bounded_ && number <= low_) return;
  low_ = number;
  bounded_ = true;
}

bool CandidateStore::within_reach(PacketNumber number) const {
  return !bounded_ || (number >= low_ && number - low_ < entries_.size());
}

CandidateStore::Slot CandidateStore::find_duplicate(const Entry& entry,
                                                    const ReceivedPacket& packet) const {
  for (std::size_t i = 0; i < entry.count; ++i) {
    if (std::ranges::equal(candidate(entry.slots[i]).datagram, packet.datagram)) {
      return entry.slots[i];
    }
  }
  return k_none;
}

// Before a first proof nobody knows which numbers are right: chance decides between those that
// share an entry, as it does between candidates. Returns whether the number has the entry now.
bool CandidateStore::give_entry_to(PacketNumber number) {
  Entry& entry = entry_of(number);
  if (entry.number == number) return true;
  const bool is_free = entry.count == 0 || !within_reach(entry.number);
  if (!is_free && random_.below(++entry.seen) != 0) return false;
  while (entry.count > 0) drop(entry.slots[0]);
  entry = {.number = number, .seen = is_free ? 0 : entry.seen - 1};
  return true;
}

Verdict CandidateStore::add(const ReceivedPacket& packet, std::uint32_t label, Time now) {
  if (packet.datagram.size() > slot_size_ || !within_reach(packet.number)) {
    return Verdict::kRefused;
  }
  if (!give_entry_to(packet.number)) return Verdict::kRefused;
  Entry& entry = entry_of(packet.number);
  if (const Slot same = find_duplicate(entry, packet); same != k_none) {
    slots_[same].by_group |= packet.by_group;
    return Verdict::kDuplicate;
  }
  ++entry.seen;
  if (entry.count == k_max_candidates) {
    // The last of n candidates stays with probability 3/n, as each before it did.
    const std::uint64_t place = random_.below(entry.seen);
    if (place >= k_max_candidates) return Verdict::kRefused;
    drop(entry.slots[place]);
  }
  const Slot slot = free_slot();
  if (slot == k_none) return Verdict::kRefused;
  fill(slot, packet, label, now);
  return Verdict::kWaiting;
}

// Where all are taken, one of them goes by chance.
CandidateStore::Slot CandidateStore::free_slot() {
  if (free_.empty()) {
    const auto victim = static_cast<Slot>(random_.below(slots_.size()));
    if (!slots_[victim].waiting) return k_none;  // being checked
    drop(victim);
  }
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

void CandidateStore::fill(Slot slot, const ReceivedPacket& packet, std::uint32_t label, Time now) {
  std::ranges::copy(packet.datagram, bytes_of(slot));
  slots_[slot] = {.number = packet.number,
                  .key_sequence = packet.key_sequence,
                  .arrival = now,
                  .label = label,
                  .length = static_cast<std::uint16_t>(packet.datagram.size()),
                  .waiting = true,
                  .by_group = packet.by_group,
                  .previous = last_,
                  .next = k_none};
  (last_ == k_none ? first_ : slots_[last_].next) = slot;
  last_ = slot;
  Entry& entry = entry_of(packet.number);
  entry.slots[entry.count++] = slot;
  ++waiting_;
}

// Takes a slot out of the order of arrival and of its number's candidates.
void CandidateStore::unlink(Slot slot) {
  SlotState& state = slots_[slot];
  (state.previous == k_none ? first_ : slots_[state.previous].next) = state.next;
  (state.next == k_none ? last_ : slots_[state.next].previous) = state.previous;
  Entry& entry = entry_of(state.number);
  const auto end = entry.slots.begin() + entry.count;
  std::copy(std::find(entry.slots.begin(), end, slot) + 1, end,
            std::find(entry.slots.begin(), end, slot));
  --entry.count;
  state.waiting = false;
  --waiting_;
}

void CandidateStore::drop(Slot slot) {
  unlink(slot);
  release(slot);
  ++evicted_;
}

void CandidateStore::release(Slot slot) { free_.push_back(slot); }

std::size_t CandidateStore::peek(PacketNumber number,
                                 std::array<Slot, k_max_candidates>& out) const {
  const Entry& entry = entry_of(number);
  if (entry.number != number) return 0;
  out = entry.slots;
  return entry.count;
}

std::size_t CandidateStore::take(PacketNumber number, std::array<Slot, k_max_candidates>& out) {
  const std::size_t count = peek(number, out);
  for (std::size_t i = 0; i < count; ++i) unlink(out[i]);
  return count;
}

CandidateStore::Slot CandidateStore::take_labelled(std::uint32_t label, Slot& cursor) {
  while (cursor != k_none) {
    const Slot slot = cursor;
    cursor = slots_[slot].next;
    if (slots_[slot].label > label) continue;
    unlink(slot);
    return slot;
  }
  return k_none;
}

CandidateStore::Candidate CandidateStore::candidate(Slot slot) const {
  const SlotState& state = slots_[slot];
  return {.number = state.number,
          .key_sequence = state.key_sequence,
          .label = state.label,
          .datagram = {bytes_of(slot), state.length},
          .by_group = state.by_group};
}

std::size_t CandidateStore::drop_until(Time time) {
  std::size_t dropped = 0;
  for (; first_ != k_none && slots_[first_].arrival <= time; ++dropped) drop(first_);
  return dropped;
}

}  // namespace sheaf::quic
