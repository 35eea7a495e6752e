#pragma once

#include <gtest/gtest.h>

#include "channel/messages.h"
#include "channel/receiver.h"
#include "channel/source.h"
#include "sim/pattern.h"

namespace sheaf::quic {

inline constexpr Time k_pair_start{1s};

// Scheme `none`, and optionally the claim that nobody forges
struct ClaimingVerifier final : Verifier {
  explicit ClaimingVerifier(bool claims_proof) : claims(claims_proof) {}
  bool proves_source() const override { return claims; }
  Verdict on_packet(const ReceivedPacket&, Time) override { return Verdict::kProven; }
  bool on_frame(const IntegrityFrame&, FrameOrigin, Time) override { return false; }
  bool claims;
};

// A source and one receiver without a network between them
struct ChannelPair {
  explicit ChannelPair(bool proven = false, bool with_key = true)
      : own_verifier(proven),
        source({.offer = unsigned_offer(), .new_key_on_leaving = true}, own_authenticator, random),
        receiver(source.offer(), own_verifier, random, k_pair_start) {
    begin(with_key);
  }
  // Of another scheme, whose objects live longer
  ChannelPair(Authenticator& authenticator, Verifier& verifier)
      : own_verifier(false),
        source({.offer = unsigned_offer(), .new_key_on_leaving = true}, authenticator, random),
        receiver(source.offer(), verifier, random, k_pair_start) {
    begin(true);
  }

  void begin(bool with_key) {
    id = *source.add_receiver();
    if (with_key) give_keys();
    receiver.on_joined();
    say();
  }

  static ChannelOffer unsigned_offer() {
    ChannelOffer offer = example_offer();
    offer.authentication = {};
    return offer;
  }

  void give_keys() {
    while (const auto key = source.poll_key(id)) {
      last_key = *key;
      receiver.on_key(*key, now);
    }
  }
  // Tells the source what the receiver has to say.
  void say() {
    if (const auto state = receiver.poll_state()) source.on_state(id, *state, now);
    if (const auto report = receiver.poll_report(now)) source.on_report(id, *report, now);
  }
  // Publishes a group of so many bytes, and returns the packets that the source sends.
  std::vector<std::vector<std::uint8_t>> publish(std::size_t bytes) {
    const StreamId group = *source.open_group();
    source.write(group, pattern_from(0, bytes), true);
    return packets();
  }
  std::vector<std::vector<std::uint8_t>> packets() {
    std::vector<std::vector<std::uint8_t>> sent;
    for (Bytes batch; !(batch = source.poll_transmit(48, now)).empty();) {
      for (; !batch.empty(); batch = batch.subspan(sent.back().size())) {
        const Bytes packet = batch.first(std::min<std::size_t>(batch.size(), 1350));
        sent.emplace_back(packet.begin(), packet.end());
      }
    }
    return sent;
  }

  SeededRandom random{5};
  NoAuthenticator own_authenticator;
  ClaimingVerifier own_verifier;
  ChannelSource source;
  ChannelReceiver receiver;
  ChannelSource::ReceiverId id = 0;
  ChannelKey last_key;
  Time now = k_pair_start;
};

}  // namespace sheaf::quic
