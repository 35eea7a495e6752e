#pragma once

#include <array>
#include <chrono>
#include <vector>

#include "crypto/seen_filter.h"
#include "util/bytes.h"

namespace sheaf::quic {

// Which ClientHello messages with 0-RTT were seen (RFC 8446 §8.2). Each one is remembered for one
// period at least, and two at most. A few in a hundred that are new may be taken for seen: their
// handshakes go on with 1-RTT. Bounded in bytes, for 1,000 resumptions a second; a network that has
// recorded as many as there is room left for gets 1-RTT too.
class ReplayRecord {
 public:
  static constexpr std::size_t k_max_bytes = 28 << 20;  // of each period
  // Also how far the client's idea of the ticket's age may be off, and at most how old a ticket may
  // be for 0-RTT: GnuTLS knows one number for all three. Equals the lifetime of its tickets.
  static constexpr std::chrono::milliseconds k_period = std::chrono::hours(6);

  explicit ReplayRecord(std::size_t max_bytes = k_max_bytes);

  // From which network the next ones come; nothing: not known, and not bounded.
  void set_network(Bytes network);
  // True the first time. The key is GnuTLS's, which ends with the PSK binder; the clock its own.
  bool add(Bytes key, std::chrono::nanoseconds now);
  std::size_t size() const { return seen_.size(); }
  std::size_t capacity() const { return seen_.capacity(); }
  std::size_t memory_bytes() const { return seen_.memory_bytes() + seen_before_.memory_bytes(); }

 private:
  // The last bytes of the PSK binder, which is a MAC.
  static constexpr std::size_t k_identity_length = 16;
  // How many each network has recorded, at most too high: networks that share all four of their
  // counters share what they have (a count-min sketch).
  static constexpr std::size_t k_rows = 4;
  static constexpr std::size_t k_columns = 4096;

  std::array<std::uint32_t*, k_rows> counters();

  std::chrono::nanoseconds begun_{};  // of the period
  BloomFilter seen_;
  BloomFilter seen_before_;
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(k_rows * k_columns);
  KeyedHash hash_;
  KeyedHash::Value network_{};
  bool network_known_ = false;
};

}  // namespace sheaf::quic
