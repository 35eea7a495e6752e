#pragma once

#include <functional>
#include <optional>

#include "channel/receiver.h"
#include "channel_authentication/clock_exchange.h"
#include "channel_authentication/make_verifier.h"
#include "sim/channel/request_messages.h"

namespace sheaf::quic {

// A host with a receiver of a channel, and with its end of the request. It joins the group as soon
// as it has the offer.
class MemberHost final : public Host {
 public:
  // Called for each event of a group, with the bytes that became readable.
  using OnGroup = std::function<void(const GroupEvent& event, Bytes bytes, Time now)>;

  // `copies` says whose connection the request is on. `runner`, `random` and `ciphers` live longer.
  MemberHost(const RequestAddresses& addresses, JobRunner& runner, Random& random,
             ChannelWay copies, OnGroup on_group, PacketCiphers& ciphers = library_ciphers())
      : addresses_(addresses),
        runner_(runner),
        random_(random),
        copies_(copies),
        on_group_(std::move(on_group)),
        ciphers_(ciphers) {}

  const ChannelReceiver& receiver() const { return *receiver_; }
  // The key that came last; nothing before
  const std::optional<ChannelKey>& newest_key() const { return newest_key_; }
  // Reports that named a missing packet
  std::uint64_t loss_reports() const { return loss_reports_; }

  void receive(const Datagram& datagram, Time now) override;
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override {
    return receiver_ ? std::min(receiver_->next_timeout(), clock_.next_timeout()) : k_never;
  }
  void on_timeout(Time now) override;

 private:
  void on_capsule(Bytes capsule, Time now);
  void deliver(Time now);
  void say(Time now);

  RequestAddresses addresses_;
  JobRunner& runner_;
  Random& random_;
  ClockExchange clock_;
  ChannelWay copies_;
  OnGroup on_group_;
  PacketCiphers& ciphers_;
  std::unique_ptr<Verifier> verifier_;
  std::optional<ChannelReceiver> receiver_;
  std::optional<ChannelKey> newest_key_;
  RequestQueue queue_;
  std::uint64_t loss_reports_ = 0;
};

}  // namespace sheaf::quic
