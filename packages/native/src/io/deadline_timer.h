#pragma once

#include "util/time.h"

namespace sheaf::io {

// A timerfd on the monotonic clock, since pacing needs better than libuv's milliseconds. Its
// descriptor is readable once the deadline has come.
class DeadlineTimer {
 public:
  DeadlineTimer();
  ~DeadlineTimer();
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // -1 when the system has none left (errno).
  int descriptor() const { return descriptor_; }
  // In monotonic_now's time; k_never stops it.
  void set(quic::Time deadline);
  // Makes the descriptor unreadable after the deadline.
  void acknowledge();

 private:
  int descriptor_;
  quic::Time deadline_ = quic::k_never;
};

}  // namespace sheaf::io
