#pragma once

#include <cstdint>

#include "crypto/packet_protection.h"

namespace sheaf::quic {

// How much an AEAD has been used against its limits (RFC 9001 §6.6): packets sealed with one key,
// forged packets seen over all keys of the connection.
class AeadUsage {
 public:
  AeadUsage(std::uint64_t confidentiality_limit, std::uint64_t integrity_limit)
      : confidentiality_limit_(confidentiality_limit), integrity_limit_(integrity_limit) {}
  explicit AeadUsage(CipherSuite suite)
      : AeadUsage(confidentiality_limit(suite), integrity_limit(suite)) {}

  void on_sealed(std::uint64_t packets) { sealed_ += packets; }
  void on_new_key() { sealed_ = 0; }
  void on_forged() { ++forged_; }

  // Half of the limit leaves time for an update that has to wait for an earlier one.
  bool wants_new_key() const { return sealed_ >= confidentiality_limit_ / 2; }
  bool exhausted() const { return sealed_ >= confidentiality_limit_ - k_reserve; }
  bool forgery_limit_reached() const { return forged_ > integrity_limit_; }

 private:
  // What may still be sealed once the limit is found: the rest of a batch (at most 64 packets),
  // then at most 64 packets of a closing connection (`CloseState` answers ever less often).
  static constexpr std::uint64_t k_reserve = 256;

  std::uint64_t confidentiality_limit_;
  std::uint64_t integrity_limit_;
  std::uint64_t sealed_ = 0;
  std::uint64_t forged_ = 0;
};

}  // namespace sheaf::quic
