#pragma once

namespace sheaf::quic::bbr {

// Whether sending faster still brings more (draft-ietf-ccwg-bbr §5.3.1.2): after three rounds in
// which the delivery rate grew by less than a quarter the pipe is full.
class FullPipe {
 public:
  // Looks anew, from a rate that is known.
  void restart(double rate = 0) { *this = FullPipe(rate); }
  // Once per round, unless the application limited the sample. Bytes per second.
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
