#pragma once

#include <memory>

#include "crypto/one_rtt_keys.h"
#include "crypto/packet_protection.h"

namespace sheaf::quic {

// Protects 0-RTT packets of one connection: long headers, one direction, no key update (RFC 9001
// §5.6). They share the packet number space of path 0.
class ZeroRttKeys {
 public:
  explicit ZeroRttKeys(const TrafficSecret& secret,
                       CryptoProvider provider = CryptoProvider::kAutomatic);
  ~ZeroRttKeys();
  ZeroRttKeys(ZeroRttKeys&&) noexcept;
  ZeroRttKeys& operator=(ZeroRttKeys&&) noexcept;

  // Writes the long header, with a 2-byte Length that `seal` fills in, and a 4-byte packet number.
  SealJob begin(Writer& writer, const ConnectionId& destination, const ConnectionId& source,
                PacketNumber number);
  // Seals a packet. `job.payload_length` bytes of payload follow the header, and room for the tag
  // follows them.
  void seal(const SealJob& job);
  // Opens a packet. `packet` is exactly one 0-RTT packet (wire/packet_header.h decode_long_header).
  OpenedPacket open(MutableBytes packet, PacketNumber largest_received);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::quic
