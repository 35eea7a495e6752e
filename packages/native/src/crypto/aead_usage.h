#pragma once

#include <cstdint>

#include "crypto/packet_protection.h"

namespace sheaf::quic {

// Counts the use of an AEAD against its limits (RFC 9001 §6.6): packets sealed with one key, and
// forged packets over all keys of one traffic secret.
class AeadUsage {
 public:
  AeadUsage(std::uint64_t confidentiality_limit, std::uint64_t integrity_limit)
      : confidentiality_limit_(confidentiality_limit), integrity_limit_(integrity_limit) {}
  explicit AeadUsage(CipherSuite suite)
      : AeadUsage(confidentiality_limit(suite), integrity_limit(suite)) {}

  // Shares of both limits. Nodes with the same keys cannot count together, so each gets a share of
  // its own: `part` is one share, and the node that gives it away has that much less. Returns false
  // when less than half would be left.
  static AeadUsage part(CipherSuite suite) {
    return {confidentiality_limit(suite) / k_parts, integrity_limit(suite) / k_parts};
  }
  bool give_part(CipherSuite suite) {
    const AeadUsage given = part(suite);
    if (confidentiality_limit_ - given.confidentiality_limit_ < confidentiality_limit(suite) / 2) {
      return false;
    }
    confidentiality_limit_ -= given.confidentiality_limit_;
    integrity_limit_ -= given.integrity_limit_;
    return true;
  }

  void on_sealed(std::uint64_t packets) { sealed_ += packets; }
  void on_new_key() { sealed_ = 0; }
  void on_forged(std::uint64_t packets = 1) { forged_ += packets; }
  std::uint64_t sealed() const { return sealed_; }
  std::uint64_t forged() const { return forged_; }

  // Half of the limit leaves time for an update that must wait for an earlier one.
  bool wants_new_key() const { return sealed_ >= confidentiality_limit_ / 2; }
  bool exhausted() const { return sealed_ >= confidentiality_limit_ - k_reserve; }
  bool forgery_limit_reached() const { return forged_ > integrity_limit_; }

 private:
  // Packets that may still be sealed after the limit was found: the rest of a batch and of the runs
  // numbered with it (fewer than 128 packets), then at most 64 packets of a closing connection
  // (`CloseState` answers less and less often).
  static constexpr std::uint64_t k_reserve = 256;
  static constexpr std::uint64_t k_parts = 64;

  std::uint64_t confidentiality_limit_;
  std::uint64_t integrity_limit_;
  std::uint64_t sealed_ = 0;
  std::uint64_t forged_ = 0;
};

}  // namespace sheaf::quic
