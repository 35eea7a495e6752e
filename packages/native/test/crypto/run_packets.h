#pragma once

#include <vector>

#include "crypto/bounded_sealer.h"

namespace sheaf::quic {

// Packets of zeroes whose numbers another node chose, as KeyPeer::seal builds its own.
struct RunPackets {
  RunPackets(PathId path, PacketNumber first, std::size_t count, std::uint8_t key_phase_bit)
      : packets(count), jobs(count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::uint8_t>& packet = packets[i];
      packet.resize(k_header_length + k_payload_length + k_aead_tag_length);
      Writer writer{packet};
      writer.write_u8(k_fixed_bit | key_phase_bit | 3);
      writer.write_bytes(std::vector<std::uint8_t>(8, 0xcc));
      writer.write_u32(static_cast<std::uint32_t>(first + i));
      jobs[i] = {.packet = packet.data(),
                 .payload_length = k_payload_length,
                 .header_length = k_header_length,
                 .packet_number_length = 4,
                 .path = path,
                 .number = first + i};
    }
  }

  static constexpr std::size_t k_header_length = 13;
  static constexpr std::size_t k_payload_length = 20;
  std::vector<std::vector<std::uint8_t>> packets;
  std::vector<SealJob> jobs;
};

}  // namespace sheaf::quic
