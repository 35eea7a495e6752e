#pragma once

#include <optional>

#include "crypto/channel_seal_keys.h"
#include "util/random.h"
#include "util/time.h"

namespace sheaf::quic {

// The keys of a source by time. The next key is chosen half an interval before its first packet is
// expected, so that receivers have it by then. Who left before that does not get it.
class SourceKeys {
 public:
  // `first` is the number of the first packet.
  SourceKeys(const TrafficSecret& header, Duration interval, PacketNumber first, Random& random);

  // Seals packets of consecutive numbers, under one key (`same_key_end`).
  [[nodiscard]] bool seal(std::span<const SealJob> jobs) { return sealing_.seal(jobs); }
  // Chooses the next key if it is time to, and changes to it if its first packet comes next.
  void advance(Time now);
  Time next_timeout() const { return next_ ? k_never : choice_; }
  // The next key was to begin by now, but fewer packets were sent than expected.
  bool overdue(Time now) const { return next_ && now >= choice_ + interval_ / 2; }

  // Returns the first key with this sequence number or a higher one, of three: the one before, the
  // present one, and the next one once it is chosen. Null: there is none.
  const ChannelSecret* first_from(std::uint64_t sequence) const;
  bool key_phase(PacketNumber number) const { return (secret_of(number).sequence & 1) != 0; }
  std::uint64_t sequence_of(PacketNumber number) const { return secret_of(number).sequence; }
  // Returns the number up to which packets from `number` on have one key.
  PacketNumber same_key_end(PacketNumber number) const {
    return next_ && number < next_->first_number ? next_->first_number : k_no_packet_number;
  }

 private:
  // Packets between the choice of a key and its first packet, at least
  static constexpr PacketNumber k_min_lead = 64;
  // And at most: the next key begins long before the present one is exhausted.
  static constexpr PacketNumber k_max_lead = 1 << 16;

  const ChannelSecret& secret_of(PacketNumber number) const {
    if (next_ && number >= next_->first_number) return *next_;
    return previous_ && number < current_.first_number ? *previous_ : current_;
  }

  Duration interval_;
  Random& random_;
  CipherSuite suite_;
  // Of packets that a group which began under it still needs
  std::optional<ChannelSecret> previous_;
  ChannelSecret current_;
  std::optional<ChannelSecret> next_;
  ChannelSealKeys sealing_;
  Time choice_ = k_never;  // when the next key is to be chosen; k_never before the first packet
};

}  // namespace sheaf::quic
