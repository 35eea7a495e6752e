#pragma once

#include <map>
#include <vector>

#include "crypto/packet_protection.h"

namespace sheaf::quic {

// Ciphers of many members that one process simulates. All of them get the same packets under the
// same keys, so each packet is opened once, and the others are given a copy of the result. A result
// stands for exactly the bytes that it was made of: forged packets are opened, and refused, by
// every member.
class SharedCiphers final : public PacketCiphers {
 public:
  SharedCiphers();
  ~SharedCiphers() override;

  std::unique_ptr<Aead> aead(const TrafficSecret& secret) override;
  std::unique_ptr<HeaderProtection> header_protection(const TrafficSecret& secret) override;

  std::uint64_t opened() const { return opened_; }  // packets, by the libraries
  std::uint64_t copied() const { return copied_; }  // results that were there already

 private:
  class SharedAead;
  class SharedAeadHandle;
  class SharedMasks;
  class SharedMasksHandle;
  using Secret = std::vector<std::uint8_t>;

  std::map<Secret, std::unique_ptr<SharedAead>> aeads_;
  std::map<Secret, std::unique_ptr<SharedMasks>> masks_;
  std::uint64_t opened_ = 0;
  std::uint64_t copied_ = 0;
};

}  // namespace sheaf::quic
