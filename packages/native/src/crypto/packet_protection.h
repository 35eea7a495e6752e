#pragma once

#include <memory>
#include <optional>

#include "crypto/traffic_secret.h"
#include "wire/types.h"

namespace sheaf::quic {

inline constexpr std::size_t k_aead_tag_length = 16;
inline constexpr std::size_t k_header_protection_sample_length = 16;

// One packet to protect in place: header, payload in clear, then room for the tag
struct SealJob {
  std::uint8_t* packet = nullptr;
  std::uint32_t payload_length = 0;  // without the tag
  std::uint16_t header_length = 0;   // with the packet number
  std::uint8_t packet_number_length = 0;
  PathId path;
  PacketNumber number = 0;
};

// AEAD and nonce of one direction and one key phase. The nonce follows RFC 10069 §2.4: path id in
// bytes 0-3, packet number in bytes 4-11, xor IV. For path 0 it equals RFC 9001 §5.3.
class Aead {
 public:
  virtual ~Aead() = default;
  // Encrypts in place and appends the tag. Header protection follows.
  virtual void seal(std::span<const SealJob> jobs) = 0;
  // Decrypts into `out`, which has room for the payload without its tag, and either begins where
  // the payload does or does not overlap it. `header` is the unprotected header, and `payload`
  // contains ciphertext and tag. Returns false when the tag is wrong; the bytes of `out` are then
  // undefined.
  virtual bool open(Bytes header, Bytes payload, PathId path, PacketNumber number,
                    std::uint8_t* out) = 0;
  // Decrypts in place.
  bool open_in_place(Bytes header, MutableBytes payload, PathId path, PacketNumber number) {
    return open(header, payload, path, number, payload.data());
  }
};

// Header protection of one direction (RFC 9001 §5.4). Its key outlives key updates.
class HeaderProtection {
 public:
  virtual ~HeaderProtection() = default;
  // Computes 5 bytes of mask for a sample.
  virtual void mask(const std::uint8_t* sample, std::uint8_t out[5]) = 0;
  // Protects the headers of sealed packets.
  virtual void protect(std::span<const SealJob> jobs) = 0;
};

enum class CryptoProvider : std::uint8_t { kAutomatic, kIpsecMb, kGnuTls };

// Derives key and IV from the secret. Returns null for `kIpsecMb` with ChaCha20 or without the
// library.
std::unique_ptr<Aead> make_aead(const TrafficSecret& secret,
                                CryptoProvider provider = CryptoProvider::kAutomatic);
std::unique_ptr<HeaderProtection> make_header_protection(
    const TrafficSecret& secret, CryptoProvider provider = CryptoProvider::kAutomatic);

// Makes what opens packets: with the cryptographic libraries, unless a simulation gives its own.
class PacketCiphers {
 public:
  virtual ~PacketCiphers() = default;
  virtual std::unique_ptr<Aead> aead(const TrafficSecret& secret) { return make_aead(secret); }
  virtual std::unique_ptr<HeaderProtection> header_protection(const TrafficSecret& secret) {
    return make_header_protection(secret);
  }
};
// The one of the libraries. It has no state.
PacketCiphers& library_ciphers();

// Result of removing header protection: the truncated packet number
struct UnprotectedHeader {
  std::uint64_t truncated_packet_number = 0;
  std::uint8_t packet_number_length = 0;
};
// Removes header protection in place. Returns nothing when the packet is too short for a sample
// (RFC 9001 §5.4.2).
std::optional<UnprotectedHeader> remove_header_protection(HeaderProtection& protection,
                                                          MutableBytes packet,
                                                          std::size_t packet_number_offset);

// Limits on the packets that a key may seal, and on the forged packets that it may see (RFC 9001
// §6.6)
std::uint64_t confidentiality_limit(CipherSuite suite);
std::uint64_t integrity_limit(CipherSuite suite);

}  // namespace sheaf::quic
