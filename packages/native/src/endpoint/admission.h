#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sheaf::quic {

enum class RetryPolicy : std::uint8_t { kUnderLoad, kAlways, kNever };

struct AdmissionConfig {
  std::size_t max_connections = 10000;
  std::size_t max_connections_per_network = 1000;
  // Number of pending handshakes with unvalidated addresses from which on a new one is answered
  // with a Retry, which keeps no state (RFC 9000 §8.1.2).
  std::size_t half_open_before_retry = 256;
  // Maximum number of pending handshakes. A network gets no more of them once it has as many as are
  // left, and so never more than half.
  std::size_t max_half_open = 4096;
  // New handshakes per second before Retry is used. A burst may have as many.
  std::uint64_t handshakes_per_second = 1000;
  // Bytes that pending handshakes may take. The oldest make room for new ones.
  std::uint64_t half_open_memory = 48 << 20;
  RetryPolicy retry = RetryPolicy::kUnderLoad;
};

// Decides what to do with a client's first packet.
class Admission {
 public:
  enum class Decision : std::uint8_t { kAccept, kRetry, kRefuse };
  explicit Admission(const AdmissionConfig& config) : config_(config) {}

  struct Load {
    std::size_t connections = 0;
    std::size_t half_open = 0;
    std::size_t half_open_from_here = 0;  // those from the network of the client
    std::size_t connections_from_here = 0;
  };
  // Returns whether the number of connections is at its maximum, in total or for the network.
  bool full(const Load& load) const {
    return load.connections >= config_.max_connections ||
           load.connections_from_here >= config_.max_connections_per_network;
  }
  // Returns whether there is no place for another handshake of the client.
  bool refuses(const Load& load) const {
    return full(load) || load.half_open >= config_.max_half_open ||
           load.half_open_from_here >= config_.max_half_open - load.half_open;
  }
  // For a client that is not refused. `within_rate`: another handshake is one of those that may
  // begin in this second.
  Decision decide(const Load& load, bool address_validated, bool within_rate) const {
    if (address_validated || config_.retry == RetryPolicy::kNever) return Decision::kAccept;
    if (config_.retry == RetryPolicy::kAlways || !within_rate ||
        load.half_open >= config_.half_open_before_retry) {
      return Decision::kRetry;
    }
    return Decision::kAccept;
  }

 private:
  AdmissionConfig config_;
};

}  // namespace sheaf::quic
