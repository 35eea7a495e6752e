#pragma once

#include "channel_authentication/clock_bound.h"
#include "channel_authentication/key_chain.h"
#include "channel_authentication/storing_verifier.h"
#include "channel_authentication/timed_schedule.h"
#include "util/token_bucket.h"

namespace sheaf::quic {

struct TimedVerifierConfig {
  ChannelId channel{};
  TimedSchedule schedule;
  // A key that is disclosed already, and its interval: of the offer, so that the channel can be
  // joined at any time. It may be a commitment (key_chain.h).
  std::uint32_t known_interval = 0;
  ChainKey known_key{};
  std::size_t max_datagram = 1500;
  std::size_t max_bytes = CandidateStore::k_ordinary_bytes;  // of packets that wait
  Duration max_wait = 2s;                                    // of a packet for its key
  // Disclosed keys that are checked in a second, and at once
  double checks_per_second = 200;
  double checks_at_once = 50;
};

// Scheme `timed`, at a member: keeps packets until the key of their interval is disclosed. Takes
// only packets whose key the source cannot have disclosed yet, for all that this member knows of
// the source's clock (RFC 4082 §3.5).
class TimedVerifier final : public StoringVerifier {
 public:
  // `clock` and `random` live longer.
  TimedVerifier(const TimedVerifierConfig& config, const ClockBound& clock, Random& random);

  std::size_t trailer_length() const override;
  Verdict on_packet(const ReceivedPacket& packet, Time now) override;
  bool on_frame(const IntegrityFrame& frame, FrameOrigin origin, Time now) override;
  bool needs_clock() const override { return true; }
  void on_clock(const SourceClock& clock) override { keys_.commit(clock.chain, clock.commitment); }

 private:
  void follow_clock();
  bool is_safe(std::uint32_t interval, Time now) const;
  bool may_be_disclosed(std::uint32_t interval, Time now) const;
  bool take_key(std::uint32_t interval, Bytes key, FrameOrigin origin);
  void check_up_to(std::uint32_t interval);
  bool load_key(std::uint32_t interval);
  bool is_genuine(const CandidateStore::Candidate& candidate);

  TimedVerifierConfig config_;
  const ClockBound& clock_;
  std::uint64_t forgotten_;  // bounds of the clock
  DisclosedKeys keys_;
  TokenBucket budget_;
  std::unique_ptr<PacketMac> mac_;
  std::uint32_t mac_interval_ = 0;
};

}  // namespace sheaf::quic
