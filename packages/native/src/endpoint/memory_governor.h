#pragma once

#include <algorithm>
#include <cstdint>

namespace sheaf::quic {

// Memory limits in bytes.
struct MemoryConfig {
  std::uint64_t connection = std::uint64_t{1} << 62;  // for one connection
  std::uint64_t total = std::uint64_t{1} << 62;       // for all connections
};

// Divides the memory of an endpoint among its connections. A connection has its full share until
// half of all memory, or half of what its network may have, is in use. From then on its share
// shrinks to the minimum: windows get smaller, and requests wait. Eviction recovers what is used
// beyond that.
class MemoryGovernor {
 public:
  // Minimum share, in bytes, which suffices to serve one request after the other.
  static constexpr std::uint64_t k_least = 128 << 10;

  explicit MemoryGovernor(const MemoryConfig& config) : config_(config) {}

  void change(std::uint64_t before, std::uint64_t after) { used_ += after - before; }
  std::uint64_t used() const { return used_; }
  // Returns the bytes that one network may use.
  std::uint64_t network_total() const { return config_.total / 4; }
  // Returns the bytes that a connection may use when its network uses `network_used`.
  std::uint64_t share(std::uint64_t network_used) const {
    const double left =
        std::min(part_left(used_, config_.total), part_left(network_used, network_total()));
    if (left >= 1) return config_.connection;
    const auto share = static_cast<std::uint64_t>(static_cast<double>(config_.connection) * left);
    return std::max(share, std::min(k_least, config_.connection));
  }
  bool exhausted() const { return used_ > config_.total / 8 * 7; }
  // Returns the number of bytes in use at which eviction stops.
  std::uint64_t target() const { return config_.total / 4 * 3; }

 private:
  // Returns the fraction (0 to 1) of the second half of `total` that is free.
  static double part_left(std::uint64_t used, std::uint64_t total) {
    const std::uint64_t half = total / 2;
    if (used <= half) return 1;
    return used >= total ? 0 : static_cast<double>(total - used) / static_cast<double>(half);
  }

  MemoryConfig config_;
  std::uint64_t used_ = 0;
};

}  // namespace sheaf::quic
