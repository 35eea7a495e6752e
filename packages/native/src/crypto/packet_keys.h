#pragma once

#include <array>

#include "crypto/packet_protection.h"
#include "crypto/wipe.h"

namespace sheaf::quic {

// Keys derived from a traffic secret (RFC 9001 §5.1). They are wiped when destroyed.
struct PacketKeys {
  std::array<std::uint8_t, 32> key{};
  std::array<std::uint8_t, 12> iv{};
  std::uint8_t key_length = 0;

  PacketKeys() = default;
  PacketKeys(const PacketKeys&) = default;
  PacketKeys& operator=(const PacketKeys&) = default;
  ~PacketKeys() { wipe(this, sizeof *this); }
};
std::uint8_t key_length(CipherSuite suite);
PacketKeys derive_packet_keys(const TrafficSecret& secret);  // "quic key" and "quic iv"
PacketKeys derive_header_key(const TrafficSecret& secret);   // "quic hp", no IV

// Return null for `kIpsecMb` with ChaCha20 or without the library.
std::unique_ptr<Aead> make_aead(CipherSuite suite, const PacketKeys& keys, CryptoProvider provider);
std::unique_ptr<HeaderProtection> make_header_protection(CipherSuite suite, const PacketKeys& keys,
                                                         CryptoProvider provider);

using Nonce = std::array<std::uint8_t, 12>;

// Computes the nonce: path id and packet number, xor IV (RFC 10069 §2.4).
inline Nonce make_nonce(const Nonce& iv, PathId path, PacketNumber number) {
  Nonce nonce;
  store(nonce.data(), load<std::uint32_t>(iv.data()) ^ path.value);
  store(nonce.data() + 4, load<std::uint64_t>(iv.data() + 4) ^ number);
  return nonce;
}

// Returns the sample, taken as if the packet number had 4 bytes (RFC 9001 §5.4.2).
inline const std::uint8_t* header_protection_sample(const SealJob& job) {
  return job.packet + job.header_length - job.packet_number_length + 4;
}

// Applies the mask to the lower 4 bits of a long header's first byte, or the lower 5 of a short
// one's, and to the packet number (RFC 9001 §5.4.1).
inline void apply_mask(const SealJob& job, const std::uint8_t* mask) {
  job.packet[0] ^= mask[0] & ((job.packet[0] & 0x80) != 0 ? 0x0f : 0x1f);
  std::uint8_t* packet_number = job.packet + job.header_length - job.packet_number_length;
  for (std::size_t i = 0; i < job.packet_number_length; ++i) packet_number[i] ^= mask[1 + i];
}

}  // namespace sheaf::quic
