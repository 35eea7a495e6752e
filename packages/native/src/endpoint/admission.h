#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

enum class RetryPolicy : std::uint8_t { kUnderLoad, kAlways, kNever };

struct AdmissionConfig {
  std::size_t max_connections = 10000;
  // Half-open handshakes of unvalidated addresses before each new one is answered with a Retry,
  // which keeps no state (RFC 9000 §8.1.2).
  std::size_t half_open_before_retry = 256;
  std::size_t max_half_open = 4096;
  // New handshakes a second before Retry is used; bursts of one second's worth.
  std::uint64_t handshakes_per_second = 1000;
  RetryPolicy retry = RetryPolicy::kUnderLoad;
};

// Decides what becomes of a client's first packet.
class Admission {
 public:
  enum class Decision : std::uint8_t { kAccept, kRetry, kRefuse };
  explicit Admission(const AdmissionConfig& config) : config_(config) {}

  Decision decide(std::size_t connections, std::size_t half_open, bool address_validated,
                  Time now) {
    if (connections >= config_.max_connections || half_open >= config_.max_half_open) {
      return Decision::kRefuse;
    }
    const bool within_rate = take_token(now);
    if (address_validated || config_.retry == RetryPolicy::kNever) return Decision::kAccept;
    if (config_.retry == RetryPolicy::kAlways || !within_rate ||
        half_open >= config_.half_open_before_retry) {
      return Decision::kRetry;
    }
    return Decision::kAccept;
  }

 private:
  bool take_token(Time now) {
    const double rate = static_cast<double>(config_.handshakes_per_second);
    const double elapsed = std::chrono::duration<double>(now - last_).count();
    tokens_ = last_ == Time{} ? rate : std::min(rate, tokens_ + elapsed * rate);
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  AdmissionConfig config_;
  double tokens_ = 0;
  Time last_{};
};

}  // namespace sheaf::quic
