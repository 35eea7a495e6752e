#include <cstdlib>
#include <vector>

#include "crypto/one_rtt_keys.h"
#include "crypto/zero_rtt_keys.h"

// Feeds packets of somebody without the keys. Checks that none opens, whatever its header says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  static TrafficSecret secret;
  secret.length = 32;
  static ZeroRttKeys early{secret};
  static OneRttKeys keys;
  if (!keys.can_receive()) keys.install_receive_secret(secret);
  if (size == 0) return 0;
  const std::size_t packet_number_offset = 1 + data[0] % 21;
  std::vector<std::uint8_t> packet(data + 1, data + size);
  const OpenedPacket opened =
      keys.open(packet, packet_number_offset, PathId{data[0]}, k_no_packet_number, Time{});
  if (opened.outcome != OpenedPacket::Outcome::kDropped) std::abort();
  packet.assign(data + 1, data + size);
  if (early.open(packet, data[0]).outcome != OpenedPacket::Outcome::kDropped) std::abort();
  return 0;
}
