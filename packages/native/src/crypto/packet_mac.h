#pragma once

#include <array>
#include <memory>

#include "crypto/packet_protection.h"

namespace sheaf::quic {

using MacKey = std::array<std::uint8_t, 16>;
using PacketTag = std::array<std::uint8_t, k_aead_tag_length>;

// AES-128-GMAC over whole packets (NIST SP 800-38D §3). The nonce is the packet's number, which a
// key sees once.
class PacketMac {
 public:
  virtual ~PacketMac() = default;
  virtual void set_key(const MacKey& key) = 0;
  // Computes the tag of a packet under the last key that was set.
  virtual PacketTag tag(Bytes packet, PacketNumber number) = 0;
};

// The key is zero until it is set. Returns null for `kIpsecMb` where the library is absent.
std::unique_ptr<PacketMac> make_packet_mac(CryptoProvider provider = CryptoProvider::kAutomatic);

}  // namespace sheaf::quic
