#include "channel_authentication/timed_source.h"

#include <algorithm>

namespace sheaf::quic {

TimedSource::TimedSource(const ChannelId& channel, const TimedSchedule& schedule, KeyChain& chain)
    : channel_(channel), schedule_(schedule), chain_(chain), mac_(make_packet_mac()) {}

// The latest key that members may know, so that they compute few steps of the chain
AuthenticationOffer TimedSource::offer(Time now) {
  const std::uint32_t present = schedule_.interval_at(now);
  const std::uint32_t known = present > schedule_.delay ? present - schedule_.delay : 0;
  // The last key of a chain proves nothing of the next one.
  const ChainKey key =
      known % k_chain_length == 0 ? chain_.commitment(known / k_chain_length) : chain_.key(known);
  return offer_of(
      TimedParameters{.schedule = schedule_, .known_interval = known, .known_key = key});
}

// Members learn the next chain's commitment while half of the present one is left. None follows the
// last one.
std::optional<SourceClock> TimedSource::clock(Time now) {
  const std::uint32_t chain =
      std::min(chain_of(schedule_.interval_at(now) + k_chain_length / 2), k_last_chain);
  return SourceClock{.time = now, .chain = chain, .commitment = chain_.commitment(chain)};
}

bool TimedSource::accepts(Time now) const {
  const std::uint32_t interval = schedule_.interval_at(now);
  return interval > 0 && interval < TimedSchedule::k_last;
}

void TimedSource::add(std::span<const SealedPacket> packets, Time now) {
  // There is no key for other times, so such packets stay without a proof.
  if (!accepts(now)) return;
  const std::uint32_t interval = schedule_.interval_at(now);
  if (interval != mac_interval_) {
    Wiped<MacKey> key;
    Wiped<ChainKey> chain_key{chain_.key(interval)};
    key.value = mac_key_of(channel_, chain_key.value);
    mac_->set_key(key.value);
    mac_interval_ = interval;
  }
  for (const SealedPacket& packet : packets) {
    const MutableBytes trailer = packet.datagram.last(k_timed_trailer_length);
    const MutableBytes covered = packet.datagram.first(packet.datagram.size() - k_aead_tag_length);
    store(trailer.data(), interval);
    const PacketTag tag = mac_->tag(covered, packet.number);
    std::ranges::copy(tag, trailer.begin() + 4);
    if (!packet.proofs_only) used_ = interval;
  }
}

// Keys are disclosed as long as packets need them.
Time TimedSource::next_timeout() const {
  if (disclosed_ >= used_) return k_never;
  return schedule_.start_of(disclosed_ + 1 + schedule_.delay);
}

std::size_t TimedSource::write_frame(MutableBytes room, Time now) {
  const std::uint32_t present = schedule_.interval_at(now);
  if (disclosed_ >= used_ || present <= schedule_.delay) return 0;
  // The latest key that is due proves all earlier ones of its chain.
  const std::uint32_t chain_end = (chain_of(disclosed_ + 1) + 1) * k_chain_length;
  const std::uint32_t due = std::min({present - schedule_.delay, used_, chain_end});
  if (due <= disclosed_) return 0;
  const ChainKey key = chain_.key(due);
  const std::size_t length =
      encode_integrity_frame(DisclosureFrame{.interval = due, .key = key}, room);
  if (length > 0) disclosed_ = due;
  return length;
}

}  // namespace sheaf::quic
