#pragma once

#include <array>
#include <cstddef>

#include "wire/frame.h"

namespace sheaf::quic {

// Answers every PATH_CHALLENGE once, the way that it came (RFC 9000 §8.2.2). A peer that sends more
// of them than fit before it reads a response gets none to the rest.
class PathResponses {
 public:
  void add(const PathData& challenge) {
    if (count_ < due_.size()) due_[count_++] = challenge;
  }
  bool due() const { return count_ > 0; }
  PathResponseFrame next() const { return {due_.front()}; }
  void sent() {
    for (std::size_t i = 1; i < count_; ++i) due_[i - 1] = due_[i];
    --count_;
  }

 private:
  std::array<PathData, 8> due_{};
  std::size_t count_ = 0;
};

}  // namespace sheaf::quic
