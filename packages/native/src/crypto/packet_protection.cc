#include "crypto/packet_protection.h"

#include "crypto/gnutls_protection.h"
#include "crypto/ipsec_mb_protection.h"
#include "crypto/key_schedule.h"

namespace sheaf::quic {
namespace {

// Labels of RFC 9001 §5.1 and RFC 9369 §3.3.2
struct Labels {
  std::string_view key;
  std::string_view iv;
  std::string_view header_protection;
};
constexpr Labels k_labels_1{"quic key", "quic iv", "quic hp"};
constexpr Labels k_labels_2{"quicv2 key", "quicv2 iv", "quicv2 hp"};

const Labels& labels_of(const TrafficSecret& secret) {
  return secret.version == k_version_2 ? k_labels_2 : k_labels_1;
}

}  // namespace

std::uint8_t key_length(CipherSuite suite) {
  return suite == CipherSuite::kAes128GcmSha256 ? 16 : 32;
}

PacketKeys derive_packet_keys(const TrafficSecret& secret) {
  PacketKeys keys;
  keys.key_length = key_length(secret.suite);
  expand_label(secret, labels_of(secret).key, {}, MutableBytes(keys.key).first(keys.key_length));
  expand_label(secret, labels_of(secret).iv, {}, keys.iv);
  return keys;
}

PacketKeys derive_header_key(const TrafficSecret& secret) {
  PacketKeys keys;
  keys.key_length = key_length(secret.suite);
  expand_label(secret, labels_of(secret).header_protection, {},
               MutableBytes(keys.key).first(keys.key_length));
  return keys;
}

std::unique_ptr<Aead> make_aead(const TrafficSecret& secret, CryptoProvider provider) {
  return make_aead(secret.suite, derive_packet_keys(secret), provider);
}

std::unique_ptr<Aead> make_aead(CipherSuite suite, const PacketKeys& keys,
                                CryptoProvider provider) {
  if (provider != CryptoProvider::kGnuTls) {
    auto aead = make_ipsec_mb_aead(suite, keys);
    if (aead || provider == CryptoProvider::kIpsecMb) return aead;
  }
  return make_gnutls_aead(suite, keys);
}

std::unique_ptr<HeaderProtection> make_header_protection(const TrafficSecret& secret,
                                                         CryptoProvider provider) {
  return make_header_protection(secret.suite, derive_header_key(secret), provider);
}

std::unique_ptr<HeaderProtection> make_header_protection(CipherSuite suite, const PacketKeys& keys,
                                                         CryptoProvider provider) {
  if (provider != CryptoProvider::kGnuTls) {
    auto protection = make_ipsec_mb_header_protection(suite, keys);
    if (protection || provider == CryptoProvider::kIpsecMb) return protection;
  }
  return make_gnutls_header_protection(suite, keys);
}

PacketCiphers& library_ciphers() {
  static PacketCiphers ciphers;
  return ciphers;
}

std::optional<UnprotectedHeader> remove_header_protection(HeaderProtection& protection,
                                                          MutableBytes packet,
                                                          std::size_t packet_number_offset) {
  const std::size_t sample_offset = packet_number_offset + 4;
  if (packet.size() < sample_offset + k_header_protection_sample_length) return std::nullopt;
  std::uint8_t mask[5];
  protection.mask(packet.data() + sample_offset, mask);
  const bool long_header = (packet[0] & 0x80) != 0;
  packet[0] ^= mask[0] & (long_header ? 0x0f : 0x1f);

  UnprotectedHeader header;
  header.packet_number_length = static_cast<std::uint8_t>((packet[0] & 0x03) + 1);
  for (std::size_t i = 0; i < header.packet_number_length; ++i) {
    std::uint8_t& byte = packet[packet_number_offset + i];
    byte ^= mask[1 + i];
    header.truncated_packet_number = header.truncated_packet_number << 8 | byte;
  }
  return header;
}

// Limits of RFC 9001 §6.6
std::uint64_t confidentiality_limit(CipherSuite suite) {
  return suite == CipherSuite::kChacha20Poly1305Sha256 ? std::uint64_t{1} << 62
                                                       : std::uint64_t{1} << 23;
}

std::uint64_t integrity_limit(CipherSuite suite) {
  return suite == CipherSuite::kChacha20Poly1305Sha256 ? std::uint64_t{1} << 36
                                                       : std::uint64_t{1} << 52;
}

}  // namespace sheaf::quic
