#pragma once

#include "wire/frame.h"

namespace sheaf::quic {

// RFC 9000 §13.4.2 and appendix A.4: marks the first packets, then goes on only if the peer's counts
// add up.
class EcnValidation {
 public:
  enum class State : std::uint8_t { kTesting, kCapable, kFailed };
  Ecn next_mark();  // for a packet about to be sent
  void on_sent(Ecn mark);
  void on_lost(Ecn mark);
  // `newly_acknowledged_ect0`: packets sent with ECT(0) that this ACK settled. Returns how many CE
  // marks are new (a congestion signal), 0 otherwise. An ACK that does not raise the largest
  // acknowledged must not be given (§13.4.2.1).
  std::uint64_t on_ack(const std::optional<EcnCounts>& counts, std::uint64_t newly_acknowledged_ect0);
  State state() const { return state_; }

 private:
  State state_ = State::kTesting;
  // The owner of this file completes the private state.
};

}  // namespace sheaf::quic
