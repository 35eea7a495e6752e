#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <vector>

#include "crypto/seen_filter.h"
#include "util/bytes.h"

namespace sheaf::quic {

// Remembers ClientHellos with 0-RTT (RFC 8446 §8.2) for one to two periods. A few percent of new
// ones may be taken for repeated: their handshakes continue with 1-RTT. The memory is bounded for
// 1,000 resumptions a second. A network that has recorded as many as there is room left for gets
// 1-RTT, too. Several threads may use one.
class ReplayRecord {
 public:
  static constexpr std::size_t k_max_bytes = 28 << 20;  // of each period
  // Period, which also bounds how far the client's idea of the ticket's age may be off, and how old
  // a ticket may be for 0-RTT: GnuTLS has one number for all three. It equals the lifetime of its
  // tickets.
  static constexpr std::chrono::milliseconds k_period = std::chrono::hours(6);

  explicit ReplayRecord(std::size_t max_bytes = k_max_bytes);

  // Adds a ClientHello. Returns true the first time. `key` is GnuTLS's, which ends with the PSK
  // binder; `now` is by GnuTLS's clock. The network is empty when it is unknown and not bounded.
  bool add(Bytes key, std::chrono::nanoseconds now, Bytes network = {});
  std::size_t size() const { return seen_.size(); }
  std::size_t capacity() const { return seen_.capacity(); }
  std::size_t memory_bytes() const { return seen_.memory_bytes() + seen_before_.memory_bytes(); }

 private:
  // Number of the last bytes of the PSK binder, a MAC, that identify a ClientHello
  static constexpr std::size_t k_identity_length = 16;
  // Upper bounds on what each network has recorded. Networks that share all four of their counters
  // share what they have (a count-min sketch).
  static constexpr std::size_t k_rows = 4;
  static constexpr std::size_t k_columns = 4096;

  std::array<std::uint32_t*, k_rows> counters(Bytes network);

  std::mutex mutex_;
  std::chrono::nanoseconds begun_{};  // start of the period
  BloomFilter seen_;
  BloomFilter seen_before_;
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(k_rows * k_columns);
  KeyedHash hash_;
};

}  // namespace sheaf::quic
