#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "util/token_bucket.h"

namespace sheaf::quic {

enum class RetryPolicy : std::uint8_t { kUnderLoad, kAlways, kNever };

struct AdmissionConfig {
  std::size_t max_connections = 10000;
  std::size_t max_connections_per_network = 1000;
  // Half-open handshakes of unvalidated addresses before each new one is answered with a Retry,
  // which keeps no state (RFC 9000 §8.1.2).
  std::size_t half_open_before_retry = 256;
  // A network that has as many of them in flight as are left gets no more: it has half at most.
  std::size_t max_half_open = 4096;
  // New handshakes a second before Retry is used; bursts of one second's worth.
  std::uint64_t handshakes_per_second = 1000;
  // Bytes that pending handshakes may take; the oldest make room for new ones.
  std::uint64_t half_open_memory = 48 << 20;
  RetryPolicy retry = RetryPolicy::kUnderLoad;
};

// Decides what becomes of a client's first packet.
class Admission {
 public:
  enum class Decision : std::uint8_t { kAccept, kRetry, kRefuse };
  explicit Admission(const AdmissionConfig& config)
      : config_(config),
        handshakes_(static_cast<double>(config.handshakes_per_second),
                    static_cast<double>(config.handshakes_per_second)) {}

  struct Load {
    std::size_t connections = 0;
    std::size_t half_open = 0;
    std::size_t half_open_from_here = 0;  // from the network of the client
    std::size_t connections_from_here = 0;
  };
  // All there may be of connections, or all that one network may have.
  bool full(const Load& load) const {
    return load.connections >= config_.max_connections ||
           load.connections_from_here >= config_.max_connections_per_network;
  }
  Decision decide(const Load& load, bool address_validated, Time now) {
    if (full(load) || load.half_open >= config_.max_half_open ||
        load.half_open_from_here >= config_.max_half_open - load.half_open) {
      return Decision::kRefuse;
    }
    const bool within_rate = handshakes_.take(now);
    if (address_validated || config_.retry == RetryPolicy::kNever) return Decision::kAccept;
    if (config_.retry == RetryPolicy::kAlways || !within_rate ||
        load.half_open >= config_.half_open_before_retry) {
      return Decision::kRetry;
    }
    return Decision::kAccept;
  }

 private:
  AdmissionConfig config_;
  TokenBucket handshakes_;
};

}  // namespace sheaf::quic
