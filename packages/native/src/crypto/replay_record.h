#pragma once

#include <array>
#include <chrono>
#include <set>

#include "util/bytes.h"

namespace sheaf::quic {

// Which ClientHello messages with 0-RTT were seen (RFC 8446 §8.2). GnuTLS asks with a key whose
// first bytes name the current recording period, and refuses tickets that are older than the period
// before it asks, except for the one ClientHello that begins a period: so the record of the last
// period is kept too. Bounded: once full, 0-RTT is refused (the handshake goes on with 1-RTT) until
// the next period.
class ReplayRecord {
 public:
  static constexpr std::size_t k_capacity = 32768;  // of each period
  // Also how far the client's idea of the ticket's age may be off, and at most how old a ticket may
  // be for 0-RTT: GnuTLS knows one number for all three. Equals the lifetime of its tickets.
  static constexpr std::chrono::milliseconds k_period = std::chrono::hours(6);

  // True the first time.
  bool add(Bytes key);
  std::size_t size() const { return seen_.size(); }

 private:
  static constexpr std::size_t k_period_length = 12;
  using Period = std::array<std::uint8_t, k_period_length>;
  // The last bytes of the PSK binder, which is a MAC.
  using Identity = std::array<std::uint8_t, 16>;

  Period period_{};
  // Ordered: a client that tries binders until they collide would slow down a hash table.
  std::set<Identity> seen_;
  std::set<Identity> seen_before_;
};

}  // namespace sheaf::quic
