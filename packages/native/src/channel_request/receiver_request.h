#pragma once

#include <memory>

#include "channel/byte_rate.h"
#include "channel/offer_check.h"
#include "channel/receiver.h"
#include "channel_authentication/clock_exchange.h"
#include "channel_authentication/make_verifier.h"
#include "channel_request/channel_request.h"

namespace sheaf::channel_request {

// The receiver's side of the request that joins a channel.
class ReceiverRequest final : public ChannelRequest {
 public:
  // `random` must outlive this object.
  ReceiverRequest(const Place& place, const quic::ChannelLimits& limits, quic::Random& random,
                  Time now);

  // Null before the source's offer, and for an offer that was refused. When the request is over,
  // what has arrived can still be read.
  quic::ChannelReceiver* receiver() { return receiver_ ? &receiver_->channel : nullptr; }
  // The offer of `receiver`
  const quic::ChannelOffer& offer() const { return offer_; }
  // How many offers were taken. Each is a receiver of its own.
  std::uint64_t offers() const { return offers_; }
  // Why this side left; nothing while it has not
  std::optional<quic::LeaveReason> left() const { return left_; }

  // Whether this side should be a member of the group: see ChannelReceiver.
  bool wants_group(Time now) const {
    return receiver_ && !over() && receiver_->channel.wants_group(now);
  }
  void on_group_packet(Bytes packet, Time now);
  // This computer's clock stood still while it slept, and that of the source did not.
  void on_woke(Time now) { clock_.begin_again(now); }
  void on_joined();
  void leave(quic::LeaveReason reason, Time now);
  Time next_timeout() const;
  void on_timeout(Time now);
  void send(Time now) override;

 private:
  // What depends on an offer
  struct Receiver {
    Receiver(const quic::ChannelOffer& offer, std::unique_ptr<quic::Verifier> of_scheme,
             quic::Random& random, Time now)
        : verifier(std::move(of_scheme)), channel(offer, *verifier, random, now) {}
    std::unique_ptr<quic::Verifier> verifier;
    quic::ChannelReceiver channel;
  };

  bool on_capsule(const quic::ChannelCapsuleValue& value, Time now) override;
  bool on_datagram(const quic::ChannelDatagram& datagram, Time now) override;
  bool on_offer(const quic::ChannelOffer& offer, Time now);
  std::unique_ptr<quic::Verifier> verifier_of(const quic::ChannelOffer& offer);
  void refuse(const quic::ChannelOffer& offer, quic::LeaveReason reason);
  void send_state();
  void send_report(Time now);
  bool on_clock(const quic::ChannelClock& clock, Time now);
  void send_clock_query(Time now);

  quic::ChannelLimits limits_;
  quic::Random& random_;
  quic::InlineRunner runner_;
  quic::ClockExchange clock_;  // begins with the first offer of `timed`
  quic::ChannelOffer offer_;
  std::uint64_t offers_ = 0;
  // Each offer costs the memory of what it reaches: one a second, and a few at once.
  quic::ByteRate offer_rate_{1, 4};
  std::unique_ptr<Receiver> receiver_;
  std::optional<quic::LeaveReason> left_;
};

}  // namespace sheaf::channel_request
