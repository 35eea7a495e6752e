#pragma once

#include "wire/frame.h"

namespace sheaf::quic {

// ECN validation (RFC 9000 §13.4.2 and appendix A.4). Marks the first packets and goes on marking
// only if the peer's counts add up.
class EcnValidation {
 public:
  enum class State : std::uint8_t { kTesting, kCapable, kFailed };
  // Returns the mark for a packet about to be sent.
  Ecn next_mark() const {
    const bool marks = state_ == State::kCapable ||
                       (state_ == State::kTesting && sent_in_test_ < k_testing_packets);
    return marks ? Ecn::kEct0 : Ecn::kNotEct;
  }
  // Returns the mark for the packets of a run. A run is longer than the test of the path, so it has
  // no part in it.
  Ecn next_mark_of_run() const { return state_ == State::kCapable ? Ecn::kEct0 : Ecn::kNotEct; }
  void on_sent(Ecn mark, std::uint64_t packets = 1) {
    if (mark != Ecn::kEct0) return;
    sent_ += packets;
    if (state_ == State::kTesting) sent_in_test_ += packets;
  }
  void on_lost(Ecn mark);
  // Takes back an `on_sent`: another node was to send the packet, and did not.
  void on_refused(Ecn mark) { sent_ -= mark == Ecn::kEct0 ? 1 : 0; }
  // `newly_acknowledged_ect0` is the number of packets sent with ECT(0) that this ACK settled.
  // Returns the number of new CE marks, which are a congestion signal. The caller passes only ACKs
  // that raise the largest acknowledged packet number (§13.4.2.1).
  std::uint64_t on_ack(const std::optional<EcnCounts>& counts,
                       std::uint64_t newly_acknowledged_ect0);
  // Starts testing again for new addresses. The peer's counts continue from their present values
  // (RFC 9000 §13.4.2).
  void restart();
  State state() const { return state_; }

 private:
  // RFC 9000 appendix A.4 suggests ten packets or three probe timeouts.
  static constexpr std::uint64_t k_testing_packets = 10;

  State state_ = State::kTesting;
  std::uint64_t sent_in_test_ = 0;
  std::uint64_t lost_in_test_ = 0;
  std::uint64_t sent_ = 0;  // packets sent with ECT(0) in this packet number space
  EcnCounts reported_;
};

}  // namespace sheaf::quic
