#pragma once

#include "congestion/controller.h"

namespace sheaf::quic::bbr {

// Counts round trips by packets (draft-ietf-ccwg-bbr §5.5.1). A round ends when something is
// acknowledged that was sent after it began. Silence does not make rounds pass.
class RoundCounter {
 public:
  void on_acknowledgement(const AckSample& sample) {
    began_ = sample.delivered_at_send >= end_;
    if (!began_) return;
    restart(sample.delivered);
    ++count_;
  }
  // Ends the current round when something is acknowledged that is sent after this call.
  void restart(std::uint64_t delivered) { end_ = delivered; }
  // Whether this acknowledgement began a round
  bool began() const { return began_; }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t end_ = 0;  // in bytes delivered
  std::uint64_t count_ = 0;
  bool began_ = false;
};

}  // namespace sheaf::quic::bbr
