#include "crypto/tls_clock.h"

#include <ctime>

// None of GnuTLS's headers declares this. It is weak, since the transport also runs without it.
extern "C" [[gnu::weak]] void _gnutls_global_set_gettime_function(void (*clock)(timespec*));

namespace sheaf::quic {
namespace {

thread_local std::chrono::nanoseconds shift{0};

void read_clock(timespec* out) {
  const std::chrono::nanoseconds time = tls_clock_now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  out->tv_sec = static_cast<time_t>(seconds.count());
  out->tv_nsec = static_cast<long>((time - seconds).count());
}

void install_clock() {
  static const bool installed = [] {
    if (!tls_clock_can_shift()) return false;
    _gnutls_global_set_gettime_function(read_clock);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

std::chrono::nanoseconds tls_clock_now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) + shift;
}

bool tls_clock_can_shift() { return _gnutls_global_set_gettime_function != nullptr; }

TlsClockShift::TlsClockShift(std::chrono::nanoseconds ahead) : ahead_(ahead) {
  install_clock();
  shift += ahead_;
}

TlsClockShift::~TlsClockShift() { shift -= ahead_; }

}  // namespace sheaf::quic
