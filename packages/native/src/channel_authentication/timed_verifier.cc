#include "channel_authentication/timed_verifier.h"

#include <algorithm>

#include "channel_authentication/timed_source.h"
#include "util/equal_tags.h"

namespace sheaf::quic {

TimedVerifier::TimedVerifier(const TimedVerifierConfig& config, const ClockBound& clock,
                             Random& random)
    : StoringVerifier(config.max_bytes, config.max_datagram, config.max_wait, random),
      config_(config),
      clock_(clock),
      forgotten_(clock.forgotten()),
      keys_(config.channel, config.known_interval, config.known_key),
      budget_(config.checks_per_second, config.checks_at_once),
      mac_(make_packet_mac()) {}

std::size_t TimedVerifier::trailer_length() const { return k_timed_trailer_length; }

// Packets wait on the bound that permitted them.
void TimedVerifier::follow_clock() {
  if (forgotten_ == clock_.forgotten()) return;
  forgotten_ = clock_.forgotten();
  store_.drop_until(k_never);
}

// The source's clock is before the disclosure of the interval's key, even if it is as far ahead as
// it can be.
bool TimedVerifier::is_safe(std::uint32_t interval, Time now) const {
  if (!clock_.known()) return false;
  const std::uint32_t latest = config_.schedule.interval_at(clock_.source_time(now));
  // An interval that cannot have begun is nobody's, and who has a disclosed key can forge.
  return interval > keys_.latest() && interval <= latest &&
         latest - interval < config_.schedule.delay;
}

bool TimedVerifier::may_be_disclosed(std::uint32_t interval, Time now) const {
  if (!clock_.known()) return false;
  const std::uint32_t latest = config_.schedule.interval_at(clock_.source_time(now));
  return latest >= config_.schedule.delay && interval <= latest - config_.schedule.delay;
}

Verdict TimedVerifier::on_packet(const ReceivedPacket& packet, Time now) {
  follow_clock();
  if (packet.datagram.size() <= k_timed_trailer_length) return Verdict::kForged;
  const std::size_t length = packet.datagram.size() - k_timed_trailer_length;
  const auto interval = load<std::uint32_t>(packet.datagram.data() + length);
  if (!is_safe(interval, now)) {
    ++counts_.refused_packets;
    return Verdict::kRefused;
  }
  return keep(packet, interval, now);
}

bool TimedVerifier::on_frame(const IntegrityFrame& frame, FrameOrigin origin, Time now) {
  follow_clock();
  const auto* disclosure = std::get_if<DisclosureFrame>(&frame);
  if (disclosure == nullptr) return false;
  if (disclosure->interval <= keys_.latest()) return true;
  if (!may_be_disclosed(disclosure->interval, now)) {
    ++counts_.forged_frames;
    return true;
  }
  if (origin == FrameOrigin::kChannel && !budget_.take(now)) {
    ++counts_.refused_frames;
    return true;
  }
  if (take_key(disclosure->interval, disclosure->key, origin)) {
    check_up_to(disclosure->interval);
  } else {
    ++counts_.forged_frames;
  }
  return true;
}

bool TimedVerifier::take_key(std::uint32_t interval, Bytes bytes, FrameOrigin origin) {
  ChainKey key;
  std::ranges::copy(bytes, key.begin());
  const auto outcome = keys_.add(interval, key);
  if (outcome != DisclosedKeys::Outcome::kTooFar || origin != FrameOrigin::kConnection) {
    return outcome == DisclosedKeys::Outcome::kNew;
  }
  // After a long pause the chain would take too many steps, or is another one. The connection
  // proves the key as well.
  keys_.replace(interval, key);
  return true;
}

void TimedVerifier::check_up_to(std::uint32_t interval) {
  CandidateStore::Slot cursor = store_.oldest_slot();
  for (;;) {
    const CandidateStore::Slot slot = store_.take_labelled(interval, cursor);
    if (slot == CandidateStore::k_none) return;
    const CandidateStore::Candidate candidate = store_.candidate(slot);
    if (!load_key(candidate.label)) {
      store_.release(slot);  // its key was lost, and the next chain does not tell it
      ++counts_.refused_packets;
    } else if (is_genuine(candidate)) {
      proven_.add(slot);
      set_reach(candidate.number);
    } else {
      drop_forged(slot);
    }
  }
}

bool TimedVerifier::load_key(std::uint32_t interval) {
  if (interval == mac_interval_) return true;
  const auto key = keys_.mac_key(interval);
  if (!key) return false;
  mac_->set_key(*key);
  mac_interval_ = interval;
  return true;
}

bool TimedVerifier::is_genuine(const CandidateStore::Candidate& candidate) {
  const std::size_t covered = candidate.datagram.size() - k_aead_tag_length;
  const PacketTag tag = mac_->tag(candidate.datagram.first(covered), candidate.number);
  return equal_tags(tag.data(), candidate.datagram.data() + covered);
}

}  // namespace sheaf::quic
