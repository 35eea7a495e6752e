#pragma once

#include <algorithm>
#include <vector>

#include "direct_return/run_messages.h"

namespace sheaf::quic {

// Runs that a backend was told and did not send yet, in the order in which they are due. Bounded.
class RunQueue {
 public:
  struct Waiting {
    Time due;
    Time dies;  // it must not be sent from then on
    RunMessage run;
    std::uint64_t sequence = 0;  // of its arrival, set by the queue
  };

  explicit RunQueue(std::size_t limit) : limit_(limit) {}

  bool full() const { return heap_.size() >= limit_; }
  std::size_t size() const { return heap_.size(); }
  bool has_run_of(GrantId grant) const {
    return std::ranges::any_of(
        heap_, [grant](const Waiting& waiting) { return waiting.run.grant == grant; });
  }
  Time next_due() const { return heap_.empty() ? k_never : heap_.front().due; }
  // The queue is not full.
  void push(Waiting waiting) {
    waiting.sequence = next_sequence_++;
    heap_.push_back(waiting);
    std::ranges::push_heap(heap_, Later{});
  }
  // Takes the first one. The queue is not empty.
  Waiting pop() {
    std::ranges::pop_heap(heap_, Later{});
    const Waiting first = heap_.back();
    heap_.pop_back();
    return first;
  }

 private:
  struct Later {
    bool operator()(const Waiting& a, const Waiting& b) const {
      return a.due != b.due ? a.due > b.due : a.sequence > b.sequence;
    }
  };

  std::size_t limit_;
  std::vector<Waiting> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace sheaf::quic
