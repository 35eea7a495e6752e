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
  // Who has as many of them under way as are left gets no more: one network has half of them.
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

  struct Load {
    std::size_t connections = 0;
    std::size_t half_open = 0;
    std::size_t half_open_from_here = 0;  // from the network of the client
  };
  Decision decide(const Load& load, bool address_validated, Time now) {
    if (load.connections >= config_.max_connections || load.half_open >= config_.max_half_open ||
        load.half_open_from_here >= config_.max_half_open - load.half_open) {
      return Decision::kRefuse;
    }
    const bool within_rate = take_token(now);
    if (address_validated || config_.retry == RetryPolicy::kNever) return Decision::kAccept;
    if (config_.retry == RetryPolicy::kAlways || !within_rate ||
        load.half_open >= config_.half_open_before_retry) {
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
