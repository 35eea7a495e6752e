#include "recovery/ecn_validation.h"

namespace sheaf::quic {

void EcnValidation::on_lost(Ecn mark) {
  if (state_ != State::kTesting || mark != Ecn::kEct0) return;
  // All marked packets were lost: something on the path discards marked packets.
  if (++lost_in_test_ >= k_testing_packets) state_ = State::kFailed;
}

std::uint64_t EcnValidation::on_ack(const std::optional<EcnCounts>& counts,
                                    std::uint64_t newly_acknowledged_ect0) {
  if (state_ == State::kFailed) return 0;
  if (!counts) {
    // RFC 9000 §13.4.2.1: the peer does not report the marks, or the path removed them.
    if (newly_acknowledged_ect0 > 0) state_ = State::kFailed;
    return 0;
  }
  const bool decreases = counts->ect0 < reported_.ect0 || counts->ce < reported_.ce;
  // No packet was sent with ECT(1), and a mark of ECT(0) can only have become CE.
  const bool impossible =
      counts->ect1 > 0 || counts->ect0 > sent_ || counts->ce > sent_ - counts->ect0;
  const std::uint64_t marks = counts->ect0 - reported_.ect0 + counts->ce - reported_.ce;
  if (decreases || impossible || marks < newly_acknowledged_ect0) {
    state_ = State::kFailed;
    return 0;
  }
  const std::uint64_t new_ce = counts->ce - reported_.ce;
  reported_ = *counts;
  if (newly_acknowledged_ect0 > 0) state_ = State::kCapable;
  return new_ce;
}

void EcnValidation::restart() {
  state_ = State::kTesting;
  sent_in_test_ = 0;
  lost_in_test_ = 0;
}

}  // namespace sheaf::quic
