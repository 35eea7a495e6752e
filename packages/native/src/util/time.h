#pragma once

#include <chrono>
#include <cstdint>

namespace sheaf::quic {

// The engine never reads a clock: every call that depends on time takes it as an argument, so that
// the same code runs on sockets and in virtual time.
struct Clock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
};

using Duration = Clock::duration;
using Time = Clock::time_point;

inline constexpr Time k_never = Time::max();

using namespace std::chrono_literals;

inline double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// `share` of a duration, rounded towards zero
inline Duration share_of(Duration duration, double share) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(duration.count()) * share));
}

// Converts to the unsigned count of libraries that count nanoseconds.
inline std::uint64_t to_nanoseconds(Time time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count());
}
inline Time from_nanoseconds(std::uint64_t nanoseconds) {
  return nanoseconds == UINT64_MAX ? k_never
                                   : Time(Duration(static_cast<std::int64_t>(nanoseconds)));
}

}  // namespace sheaf::quic
