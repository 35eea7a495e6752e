#pragma once

#include <optional>

#include "crypto/phase_keys.h"
#include "direct_return/run_messages.h"

namespace sheaf::quic {

// Seals the keys of a phase for nodes that have those of another phase of the same path, so that
// none of them lies open in the queues and buffers of whatever carries the message. The sealing key
// follows from the key of header protection, which all phases share and which is wiped with the
// last grant (docs/internals/direct-return.md).
class PhaseSealer {
 public:
  // Reads suite, path and header key.
  explicit PhaseSealer(const PhaseKeys& keys);

  // The same keys with the same first number always give the same message, so no nonce is used for
  // two of them. The generation has 32 bits.
  PhaseChange seal(std::uint64_t connection, const PhaseKeys& keys) const;
  // Returns nothing for a message that no other sealer of the path has made. The header key of the
  // result is empty, and has the length of the suite.
  std::optional<PhaseKeys> open(const PhaseChange& change) const;

 private:
  std::unique_ptr<Aead> aead() const;

  CipherSuite suite_;
  PathId path_;
  PacketKeys key_;  // the IV is zero
};

}  // namespace sheaf::quic
