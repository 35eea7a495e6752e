#pragma once

namespace sheaf::quic::bbr {

// Detects whether sending faster still helps (draft-ietf-ccwg-bbr §5.3.1.2). The pipe is full after
// three rounds in which the delivery rate grew by less than a quarter.
class FullPipe {
 public:
  // Starts again from a known rate.
  void restart(double rate = 0) { *this = FullPipe(rate); }
  // Call this once per round with the rate in bytes per second, unless the application limited the
  // sample.
  void on_round(double rate) {
    if (full_) return;
    if (rate >= baseline_ * k_growth) return restart(rate);
    full_ = ++rounds_ >= k_rounds;
  }
  bool full() const { return full_; }

  FullPipe() = default;

 private:
  static constexpr double k_growth = 1.25;
  static constexpr int k_rounds = 3;

  explicit FullPipe(double rate) : baseline_(rate) {}

  double baseline_ = 0;
  int rounds_ = 0;
  bool full_ = false;
};

}  // namespace sheaf::quic::bbr
