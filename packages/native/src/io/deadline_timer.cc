#include "io/deadline_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace sheaf::io {

DeadlineTimer::DeadlineTimer()
    : descriptor_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

DeadlineTimer::~DeadlineTimer() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void DeadlineTimer::set(quic::Time deadline) {
  if (deadline == deadline_) return;
  deadline_ = deadline;
  itimerspec when{};
  if (deadline != quic::k_never) {
    // Zero would disarm it.
    const auto nanoseconds = std::max<std::int64_t>(deadline.time_since_epoch().count(), 1);
    when.it_value.tv_sec = nanoseconds / 1'000'000'000;
    when.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  }
  timerfd_settime(descriptor_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void DeadlineTimer::acknowledge() {
  std::uint64_t expirations = 0;
  static_cast<void>(!read(descriptor_, &expirations, sizeof expirations));
  deadline_ = quic::k_never;
}

}  // namespace sheaf::io
