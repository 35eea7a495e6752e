#pragma once

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>
#include <vector>

#include "crypto/key_schedule.h"
#include "crypto/packet_protection.h"

namespace sheaf::quic {

// Seals frames in a client's Initial packet of version 1 (RFC 9001 §5.2), so that a fuzzer gets
// past the packet's protection.
class InitialSealer {
 public:
  InitialSealer(Bytes destination, Bytes source) : destination_(destination), source_(source) {
    constexpr std::uint8_t salt[] = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
                                     0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
    ngtcp2_crypto_ctx context;
    ngtcp2_crypto_md sha256;
    context.md = *ngtcp2_crypto_md_init(&sha256, reinterpret_cast<void*>(GNUTLS_DIG_SHA256));
    TrafficSecret initial;
    initial.length = 32;
    ngtcp2_crypto_hkdf_extract(initial.bytes.data(), &context.md, destination.data(),
                               destination.size(), salt, sizeof salt);
    TrafficSecret client = initial;
    expand_label(initial, "client in", {}, {client.bytes.data(), 32});
    aead_ = make_aead(client, CryptoProvider::kGnuTls);
    protection_ = make_header_protection(client, CryptoProvider::kGnuTls);
  }

  // Returns a datagram of 1200 bytes. `frames` is cut to what fits.
  std::vector<std::uint8_t> seal(Bytes frames, std::uint8_t number) {
    std::vector<std::uint8_t> packet(1200);
    Writer writer{packet};
    writer.write_u8(0xc0);  // packet number of 1 byte
    writer.write_u32(k_version_1);
    writer.write_u8(static_cast<std::uint8_t>(destination_.size()));
    writer.write_bytes(destination_);
    writer.write_u8(static_cast<std::uint8_t>(source_.size()));
    writer.write_bytes(source_);
    writer.write_varint(0);  // token
    const std::size_t rest = writer.remaining() - 2;
    writer.write_varint(rest, 2);
    writer.write_u8(number);
    const std::size_t header = writer.size();
    const std::size_t payload = packet.size() - header - k_aead_tag_length;
    writer.write_bytes(frames.first(std::min(frames.size(), payload)));
    const SealJob job{.packet = packet.data(),
                      .payload_length = static_cast<std::uint32_t>(payload),
                      .header_length = static_cast<std::uint16_t>(header),
                      .packet_number_length = 1,
                      .path = {},
                      .number = number};
    aead_->seal({&job, 1});
    protection_->protect({&job, 1});
    return packet;
  }

 private:
  Bytes destination_;
  Bytes source_;
  std::unique_ptr<Aead> aead_;
  std::unique_ptr<HeaderProtection> protection_;
};

}  // namespace sheaf::quic
