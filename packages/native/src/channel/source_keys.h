#pragma once

#include <algorithm>
#include <vector>

#include "crypto/channel_seal_keys.h"
#include "util/random.h"
#include "util/time.h"

namespace sheaf::quic {

// When keys change
struct KeySchedule {
  Duration interval;  // for which a key serves
  // Of a key that is chosen because receivers left: packets from its choice to its first one, in
  // which the others get it
  PacketNumber notice = 64;
  // From the choice of such a key to that of the next one, at least
  Duration hold = 1s;
};

// The keys of a source. The next key is chosen half an interval before its first packet is
// expected, so that receivers have it by then. When receivers leave, another key is chosen sooner,
// which they do not get. Those who leave within the same time share it: nobody can make keys change
// at will by coming and going.
class SourceKeys {
 public:
  struct Key {
    ChannelSecret secret;
    std::uint64_t serial;  // rises with each key that is chosen, even when that is never used
  };

  // `first` is the number of the first packet.
  SourceKeys(const TrafficSecret& header, const KeySchedule& schedule, PacketNumber first,
             Random& random);

  // Seals packets of consecutive numbers, under one key (`same_key_end`).
  [[nodiscard]] bool seal(std::span<const SealJob> jobs) { return sealing_.seal(jobs); }
  // Chooses the next key if it is time to, and changes to it if its first packet comes next.
  void advance(Time now);
  // A receiver left, which has all keys that were chosen so far.
  void on_left() { left_ = true; }
  // Sets the notice of keys that are chosen from now on.
  void set_notice(PacketNumber packets) {
    schedule_.notice = std::clamp(packets, k_min_lead, k_max_lead);
  }
  Time next_timeout() const;
  // Returns how many packets are left before the next key, which was to begin by now: fewer were
  // sent than expected.
  PacketNumber overdue(Time now) const;

  // Returns the first key with this serial number or a higher one: one of those that were used
  // last, the present one, or the next one once it is chosen. Null: there is none.
  const Key* first_from(std::uint64_t serial) const;
  bool key_phase(PacketNumber number) const { return (sequence_of(number) & 1) != 0; }
  // These return that of the oldest key which is kept, for an earlier number.
  std::uint64_t sequence_of(PacketNumber number) const { return key_of(number).secret.sequence; }
  std::uint64_t serial_of(PacketNumber number) const { return key_of(number).serial; }
  // Returns the number up to which packets from `number` on have one key.
  PacketNumber same_key_end(PacketNumber number) const;

 private:
  // Packets between the choice of a key and its first packet, at least
  static constexpr PacketNumber k_min_lead = 64;
  // And at most: the next key begins long before the present one is exhausted.
  static constexpr PacketNumber k_max_lead = 1 << 16;

  // Keys of packets that a group which began under them may still need, with the present one
  static constexpr std::size_t k_max_used = 8;

  static PacketNumber first_of(const Key& key) { return key.secret.first_number; }
  const Key& key_of(PacketNumber number) const;
  bool has_next() const { return keys_.back().secret.sequence > sealing_.sequence(); }
  Key drawn(std::uint64_t sequence, PacketNumber first);
  void choose(PacketNumber first, Time now);
  void begin_next(Time now);
  // When to choose a key for those who stay
  Time leaving_due() const;
  void choose_for_who_stays(Time now);

  KeySchedule schedule_;
  Random& random_;
  CipherSuite suite_;
  std::uint64_t next_serial_ = 0;
  std::vector<Key> keys_;  // by sequence: those in use, and the next one
  ChannelSealKeys sealing_;
  Time choice_ = k_never;  // when the next key is to be chosen; k_never before the first packet
  Time chosen_{};          // when the newest key was
  bool left_ = false;      // a receiver left that has the newest key
  Duration hold_{};        // after the last key that was chosen for who stays
  Time held_until_{};
  bool held_back_ = false;  // a receiver left before that
};

}  // namespace sheaf::quic
