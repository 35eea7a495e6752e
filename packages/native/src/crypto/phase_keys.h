#pragma once

#include "crypto/packet_keys.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

// What another node needs to seal packets of one path in one key phase, and nothing from which keys
// of another phase or of the other direction follow (docs/internals/keys.md). Wiped when destroyed.
struct PhaseKeys {
  CipherSuite suite = CipherSuite::kAes128GcmSha256;
  PathId path;
  PacketKeys packet;              // key and IV of the phase
  PacketKeys header;              // header protection; key updates keep it (RFC 9001 §6.1)
  std::uint64_t generation = 0;   // number of earlier key updates
  PacketNumber first_number = 0;  // the lowest that may be sealed with this copy of the keys

  // Names a phase in messages: a node that missed up to seven updates does not take another phase
  // for its own.
  static constexpr std::uint8_t k_phase_names = 8;
  std::uint8_t phase_name() const { return static_cast<std::uint8_t>(generation % k_phase_names); }
  // 0 or k_key_phase_bit
  std::uint8_t key_phase_bit() const { return (generation & 1) != 0 ? k_key_phase_bit : 0; }

  // Whether lengths, suite and numbers are possible results of `OneRttKeys::phase_for_sending`
  bool valid() const {
    return known(suite) && packet.key_length == key_length(suite) &&
           header.key_length == key_length(suite) && generation < k_limit && first_number < k_limit;
  }
  static constexpr std::uint64_t k_limit = std::uint64_t{1} << 62;  // of numbers (RFC 9000 §12.3)
};

}  // namespace sheaf::quic
