#pragma once

#include "util/time.h"

namespace sheaf::quic {

// Tells that another node is silent. Counts steps of the time in which this process itself runs:
// one for each look, however long the last one is ago. So a process that was not scheduled blames
// nobody, as it reads what has come meanwhile before it has taken all steps. A pure value.
class Silence {
 public:
  static constexpr Duration k_step = 200ms;
  static constexpr int k_steps = 3;
  // Least time between the last step and the verdict. Sockets are read at least once meanwhile.
  static constexpr Duration k_to_read = 10ms;

  explicit Silence(Time now) : since_(now) {}

  void on_word(Time now) { *this = Silence(now); }
  // Returns whether the node is silent. To be called at `deadline`.
  bool look(Time now) {
    if (steps_ <= k_steps && now >= deadline()) {
      ++steps_;
      since_ = now;
    }
    return steps_ > k_steps;
  }
  Time deadline() const {
    if (steps_ > k_steps) return since_;
    return since_ + (steps_ < k_steps ? k_step : k_to_read);
  }

 private:
  Time since_;  // the last word, or step
  int steps_ = 0;
};

}  // namespace sheaf::quic
