#include "channel_authentication/packet_signatures.h"

#include <algorithm>
#include <cassert>

#include "channel_authentication/flight_hashes.h"

namespace sheaf::quic {
namespace {

constexpr std::string_view k_packet_label = "sheaf channel packet";

}  // namespace

PacketText::PacketText(const ChannelId& channel)
    : bytes_(
          std::make_unique<std::uint8_t[]>(k_packet_label.size() + channel.size() + k_max_packet)) {
  Writer out({bytes_.get(), k_packet_label.size() + channel.size()});
  out.write_bytes(as_bytes(k_packet_label));
  out.write_bytes(channel);
  prefix_ = out.size();
}

Bytes PacketText::of(Bytes packet) {
  assert(packet.size() <= k_max_packet);
  std::ranges::copy(packet, bytes_.get() + prefix_);
  return {bytes_.get(), prefix_ + packet.size()};
}

void PacketSigner::add(std::span<const SealedPacket> packets, Time) {
  for (const SealedPacket& packet : packets) {
    const std::size_t length = packet.datagram.size() - sizeof(Ed25519Signature);
    const Ed25519Signature signature = key_.sign(text_.of(packet.datagram.first(length)));
    std::ranges::copy(signature, packet.datagram.data() + length);
  }
}

Verdict PacketSignatureVerifier::on_packet(const ReceivedPacket& packet, Time) {
  if (packet.datagram.size() > sizeof(Ed25519Signature) && packet.datagram.size() <= UINT16_MAX) {
    const std::size_t length = packet.datagram.size() - sizeof(Ed25519Signature);
    Ed25519Signature signature;
    std::ranges::copy(packet.datagram.subspan(length), signature.begin());
    if (source_.verify(text_.of(packet.datagram.first(length)), signature)) {
      return Verdict::kProven;
    }
  }
  ++counts_.forged_packets;
  return Verdict::kForged;
}

}  // namespace sheaf::quic
