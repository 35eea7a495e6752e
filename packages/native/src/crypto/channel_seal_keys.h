#pragma once

#include "crypto/aead_usage.h"
#include "crypto/channel_secret.h"

namespace sheaf::quic {

// Seals the packets of a channel at its source (docs/internals/keys.md#keys-of-a-channel).
class ChannelSealKeys {
 public:
  // `header_secret` protects the headers of all packets, whatever their key. It has the suite of
  // all keys.
  ChannelSealKeys(const TrafficSecret& header_secret, const ChannelSecret& first,
                  CryptoProvider provider = CryptoProvider::kAutomatic);

  // Seals all further packets with the next key. Its sequence is one more than the last, or the
  // same when nothing was sealed with that key. Its first number is that of the next packet, and
  // its suite the same. Else changes nothing and returns false.
  [[nodiscard]] bool change(const ChannelSecret& next);

  // Seals packets of consecutive numbers, which begin with `next_number`, and protects their
  // headers. Their headers have the phase bit of the present key and numbers of four bytes. Seals
  // nothing and returns false for any others, and when the key is exhausted.
  [[nodiscard]] bool seal(std::span<const SealJob> jobs);

  std::uint64_t sequence() const { return sequence_; }
  PacketNumber next_number() const { return next_number_; }
  std::uint8_t key_phase_bit() const;
  // The limit of RFC 9001 §6.6 is near: members need the next secret now.
  bool wants_new_key() const { return usage_.wants_new_key(); }

 private:
  bool may_seal(const SealJob& job, PacketNumber expected) const;

  CryptoProvider provider_;
  CipherSuite suite_;
  std::uint64_t sequence_;
  PacketNumber next_number_;
  AeadUsage usage_;
  std::unique_ptr<Aead> aead_;
  std::unique_ptr<HeaderProtection> header_protection_;
};

}  // namespace sheaf::quic
