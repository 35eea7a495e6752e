#pragma once

#include "crypto/phase_keys.h"

namespace sheaf::quic {

// Seals packets whose numbers another node chose, with keys that it lent. One *run* of consecutive
// numbers is permitted at a time. Whichever messages are lost, repeated or late, the sealed numbers
// rise over the sealer's whole life, across runs and key phases, so that no nonce is used twice.
// This holds only for one sealer made from the same keys (docs/internals/keys.md).
class BoundedSealer {
 public:
  // `keys` are valid (PhaseKeys::valid).
  explicit BoundedSealer(const PhaseKeys& keys,
                         CryptoProvider provider = CryptoProvider::kAutomatic);

  // Replaces the keys by those of a later phase, and ends the permitted run. `keys.header` is not
  // read, since updates keep it. Changes nothing and returns false for keys of the same or an
  // earlier phase, of another path or suite, and for keys that are not valid.
  [[nodiscard]] bool follow(const PhaseKeys& keys);

  // Permits `count` numbers from `first` on, and no longer those of the run before. `phase_name` is
  // PhaseKeys::phase_name of the keys that the packets need. Changes nothing and returns false when
  // the run is empty, of another phase, or not above all that was permitted before.
  [[nodiscard]] bool permit(PacketNumber first, std::uint32_t count, std::uint8_t phase_name);

  // Seals packets and applies header protection. All jobs have a short header with the phase bit of
  // these keys, a number of 4 bytes, the keys' path, and rising numbers of the permitted run. Else
  // seals nothing and returns false.
  [[nodiscard]] bool seal(std::span<const SealJob> jobs);

  std::uint8_t key_phase_bit() const { return phase_bit_; }
  std::uint64_t generation() const { return generation_; }
  // The next run has to begin here or above.
  PacketNumber next_run() const { return run_end_; }

 private:
  bool may_seal(const SealJob& job) const;

  CryptoProvider provider_;
  CipherSuite suite_;
  PathId path_;
  std::uint64_t generation_;
  std::uint8_t phase_name_;
  std::uint8_t phase_bit_;
  // From next_number_ to below run_end_ lies what may be sealed.
  PacketNumber next_number_;
  PacketNumber run_end_;
  std::unique_ptr<Aead> aead_;
  std::unique_ptr<HeaderProtection> header_protection_;
};

}  // namespace sheaf::quic
