#pragma once

#include "wire/frame.h"

namespace sheaf::quic {

// RFC 9000 §13.4.2 and appendix A.4: marks the first packets, then goes on only if the peer's
// counts add up.
class EcnValidation {
 public:
  enum class State : std::uint8_t { kTesting, kCapable, kFailed };
  // For a packet about to be sent.
  Ecn next_mark() const {
    const bool marks = state_ == State::kCapable ||
                       (state_ == State::kTesting && sent_in_test_ < k_testing_packets);
    return marks ? Ecn::kEct0 : Ecn::kNotEct;
  }
  void on_sent(Ecn mark) {
    if (mark != Ecn::kEct0) return;
    ++sent_;
    if (state_ == State::kTesting) ++sent_in_test_;
  }
  void on_lost(Ecn mark);
  // `newly_acknowledged_ect0`: packets sent with ECT(0) that this ACK settled. Returns how many CE
  // marks are new (a congestion signal), 0 otherwise. An ACK that does not raise the largest
  // acknowledged must not be given (§13.4.2.1).
  std::uint64_t on_ack(const std::optional<EcnCounts>& counts,
                       std::uint64_t newly_acknowledged_ect0);
  // Tests again, for new addresses. The peer's counts go on from where they are (§13.4.2).
  void restart();
  State state() const { return state_; }

 private:
  // Appendix A.4 suggests ten packets, or three probe timeouts.
  static constexpr std::uint64_t k_testing_packets = 10;

  State state_ = State::kTesting;
  std::uint64_t sent_in_test_ = 0;
  std::uint64_t lost_in_test_ = 0;
  std::uint64_t sent_ = 0;  // with ECT(0), in this packet number space
  EcnCounts reported_;
};

}  // namespace sheaf::quic
