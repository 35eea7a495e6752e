#pragma once

#include <chrono>

namespace sheaf::quic {

// Tolerance by which a client may believe its ticket to be older than the server knows it to be
// (RFC 8446 §8.3 mentions ten seconds). Many clients count whole seconds from a truncated time, and
// clocks are wrong or are set. GnuTLS 3.7 then refuses 0-RTT, however small the difference, so
// tickets are dated back by this.
inline constexpr std::chrono::milliseconds k_ticket_age_tolerance = std::chrono::seconds(10);

// Time of this thread since the epoch, with the shifts below
std::chrono::nanoseconds tls_clock_now();

// Returns whether GnuTLS exports the function that the shifts below need.
bool tls_clock_can_shift();

// Shifts GnuTLS's clock on this thread while it lives: ahead of the system's clock, or behind it
// when negative. Shifts add up. It has no effect if GnuTLS does not export the function that its
// own tests use for this.
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
