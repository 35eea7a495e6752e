#pragma once

#include <algorithm>
#include <cstdint>

namespace sheaf::quic {

// In bytes.
struct MemoryConfig {
  std::uint64_t connection = std::uint64_t{1} << 62;  // of one connection
  std::uint64_t total = std::uint64_t{1} << 62;       // of all
};

// Divides the memory of an endpoint among its connections. A connection has its full share until
// half of all, or half of what one network may have, is in use; from then on less, down to the
// least: windows shrink, and requests wait. What is beyond that is for eviction to give back.
class MemoryGovernor {
 public:
  // Serves one request after the other.
  static constexpr std::uint64_t k_least = 128 << 10;

  explicit MemoryGovernor(const MemoryConfig& config) : config_(config) {}

  void change(std::uint64_t before, std::uint64_t after) { used_ += after - before; }
  std::uint64_t used() const { return used_; }
  // Bytes that one network may use.
  std::uint64_t network_total() const { return config_.total / 4; }
  // Bytes that a connection may use whose network uses so much.
  std::uint64_t share(std::uint64_t network_used) const {
    const double left =
        std::min(part_left(used_, config_.total), part_left(network_used, network_total()));
    if (left >= 1) return config_.connection;
    const auto share = static_cast<std::uint64_t>(static_cast<double>(config_.connection) * left);
    return std::max(share, std::min(k_least, config_.connection));
  }
  bool exhausted() const { return used_ > config_.total / 8 * 7; }
  // Bytes that eviction brings the use down to.
  std::uint64_t target() const { return config_.total / 4 * 3; }

 private:
  // The part, 0 to 1, that is left of the second half of `total`.
  static double part_left(std::uint64_t used, std::uint64_t total) {
    const std::uint64_t half = total / 2;
    if (used <= half) return 1;
    return used >= total ? 0 : static_cast<double>(total - used) / static_cast<double>(half);
  }

  MemoryConfig config_;
  std::uint64_t used_ = 0;
};

}  // namespace sheaf::quic
