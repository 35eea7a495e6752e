#pragma once

#include <algorithm>

namespace sheaf::quic::bbr {

// The largest delivery rate of this probing cycle and of the one before it (draft-ietf-ccwg-bbr
// §5.5.3 to §5.5.6, MaxBwFilterLen). So the rate seen while probing is remembered until the next
// probe has ended.
class BandwidthFilter {
 public:
  void add(double rate) { this_cycle_ = std::max(this_cycle_, rate); }
  void advance() {
    // A cycle without measurements does not make the path unknown.
    if (this_cycle_ == 0) return;
    last_cycle_ = this_cycle_;
    this_cycle_ = 0;
  }
  // Bytes per second; 0 before the first sample.
  double maximum() const { return std::max(this_cycle_, last_cycle_); }

 private:
  double this_cycle_ = 0;
  double last_cycle_ = 0;
};

}  // namespace sheaf::quic::bbr
