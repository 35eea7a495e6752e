#pragma once

#include <chrono>

namespace sheaf::quic {

// RFC 8446 §8.3, which speaks of ten seconds: how much older than the server knows it to be a
// client may think its ticket. Many count whole seconds, from a moment that they have cut to a
// whole second, and clocks go wrong or are set. GnuTLS 3.7 refuses 0-RTT then, however small the
// difference, so tickets are dated back by as much.
inline constexpr std::chrono::milliseconds k_ticket_age_tolerance = std::chrono::seconds(10);

// Of this thread: since the epoch, with the shifts below.
std::chrono::nanoseconds tls_clock_now();

// While it lives, GnuTLS's clock is ahead of the system's by so much on this thread; behind it,
// when negative. They add up. Without effect where GnuTLS does not export what its own tests use
// for it.
class TlsClockShift {
 public:
  explicit TlsClockShift(std::chrono::nanoseconds ahead);
  ~TlsClockShift();
  TlsClockShift(const TlsClockShift&) = delete;
  TlsClockShift& operator=(const TlsClockShift&) = delete;

 private:
  std::chrono::nanoseconds ahead_;
};

}  // namespace sheaf::quic
