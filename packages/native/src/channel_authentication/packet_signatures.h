#pragma once

#include "channel_authentication/authenticator.h"
#include "channel_authentication/verifier.h"
#include "crypto/channel_secret.h"
#include "crypto/ed25519.h"

namespace sheaf::quic {

// What the signature of one packet covers: a label, the channel and the packet
class PacketText {
 public:
  explicit PacketText(const ChannelId& channel);
  // The text stays until the next call.
  Bytes of(Bytes packet);

 private:
  static constexpr std::size_t k_max_packet = 65535;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t prefix_ = 0;
};

// Scheme MC_A of MCQUIC (section 4.2): a signature behind each packet. For comparison; it costs a
// hundred times as much as to seal the packet.
class PacketSigner final : public Authenticator {
 public:
  PacketSigner(const ChannelId& channel, const SigningKey& key) : key_(key), text_(channel) {}
  AuthenticationOffer offer(Time) override {
    return offer_of_public_key(AuthenticationScheme::kPacketSignatures, key_.public_key());
  }
  std::size_t trailer_length() const override { return sizeof(Ed25519Signature); }
  void add(std::span<const SealedPacket> packets, Time now) override;

 private:
  const SigningKey& key_;
  PacketText text_;
};

class PacketSignatureVerifier final : public Verifier {
 public:
  PacketSignatureVerifier(const ChannelId& channel, const Ed25519PublicKey& source)
      : source_(source), text_(channel) {}
  std::size_t trailer_length() const override { return sizeof(Ed25519Signature); }
  Verdict on_packet(const ReceivedPacket& packet, Time now) override;
  bool on_frame(const IntegrityFrame&, FrameOrigin, Time) override { return false; }
  VerifierCounts counts() const override { return counts_; }

 private:
  VerifyingKey source_;
  PacketText text_;
  VerifierCounts counts_;
};

}  // namespace sheaf::quic
