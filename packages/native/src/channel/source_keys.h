#pragma once

#include <vector>

#include "crypto/channel_seal_keys.h"
#include "util/random.h"
#include "util/time.h"

namespace sheaf::quic {

// The keys of a source by time. The next key is chosen half an interval before its first packet is
// expected, so that receivers have it by then. Who left before that does not get it. `change_now`
// is for those who left later.
class SourceKeys {
 public:
  // `first` is the number of the first packet.
  SourceKeys(const TrafficSecret& header, Duration interval, PacketNumber first, Random& random);

  // Seals packets of consecutive numbers, under one key (`same_key_end`).
  [[nodiscard]] bool seal(std::span<const SealJob> jobs) { return sealing_.seal(jobs); }
  // Chooses the next key if it is time to, and changes to it if its first packet comes next.
  void advance(Time now);
  // Seals the next packet with a key that nobody has yet. Keys with which nothing was sealed go:
  // the new one has their sequence number. Returns that number.
  std::uint64_t change_now(Time now);
  Time next_timeout() const { return has_next() ? k_never : choice_; }
  // The next key was to begin by now, but fewer packets were sent than expected.
  bool overdue(Time now) const { return has_next() && now >= choice_ + interval_ / 2; }

  // Returns the first key with this sequence number or a higher one: one of those that were used
  // last, the present one, or the next one once it is chosen. Null: there is none.
  const ChannelSecret* first_from(std::uint64_t sequence) const;
  bool key_phase(PacketNumber number) const { return (sequence_of(number) & 1) != 0; }
  // That of the oldest key which is kept, for an earlier number
  std::uint64_t sequence_of(PacketNumber number) const;
  // Returns the number up to which packets from `number` on have one key.
  PacketNumber same_key_end(PacketNumber number) const;

 private:
  // Packets between the choice of a key and its first packet, at least
  static constexpr PacketNumber k_min_lead = 64;
  // And at most: the next key begins long before the present one is exhausted.
  static constexpr PacketNumber k_max_lead = 1 << 16;

  // Keys of packets that a group which began under them may still need, with the present one
  static constexpr std::size_t k_max_used = 8;

  bool has_next() const { return keys_.back().sequence > sealing_.sequence(); }
  void begin_newest(Time now);

  Duration interval_;
  Random& random_;
  CipherSuite suite_;
  std::vector<ChannelSecret> keys_;  // by sequence: those in use, and the next one
  ChannelSealKeys sealing_;
  Time choice_ = k_never;  // when the next key is to be chosen; k_never before the first packet
};

}  // namespace sheaf::quic
