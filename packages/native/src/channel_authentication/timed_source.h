#pragma once

#include "channel_authentication/authenticator.h"
#include "channel_authentication/integrity_frame.h"
#include "channel_authentication/key_chain.h"
#include "channel_authentication/timed_schedule.h"

namespace sheaf::quic {

// Behind a packet of the scheme `timed`: its interval and its tag
inline constexpr std::size_t k_timed_trailer_length = 4 + k_aead_tag_length;

// Scheme `timed`, at the source (TESLA, RFC 4082). Its clock is the one that the schedule names.
class TimedSource final : public Authenticator {
 public:
  // `chain` lives longer. Packets are accepted from the schedule's start to its
  // last interval.
  TimedSource(const ChannelId& channel, const TimedSchedule& schedule, KeyChain& chain);

  AuthenticationOffer offer(Time now) override;
  std::optional<SourceClock> clock(Time now) override;
  std::size_t trailer_length() const override { return k_timed_trailer_length; }
  bool accepts(Time now) const override;
  void add(std::span<const SealedPacket> packets, Time now) override;
  std::size_t max_frame() const override { return k_disclosure_frame_length; }
  Time next_timeout() const override;
  std::size_t write_frame(MutableBytes room, Time now) override;

 private:
  ChannelId channel_;
  TimedSchedule schedule_;
  KeyChain& chain_;
  std::unique_ptr<PacketMac> mac_;
  std::uint32_t mac_interval_ = 0;  // whose key `mac_` has
  std::uint32_t used_ = 0;          // the latest interval of a packet
  std::uint32_t disclosed_ = 0;     // the latest
};

}  // namespace sheaf::quic
