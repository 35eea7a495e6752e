#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>

#include "util/address.h"
#include "util/time.h"

namespace sheaf::quic {

// Remembers from which backends packets do not reach which networks of clients. A filter of source
// addresses on the way concerns a whole network, and stays for a while. Bounded: the oldest is
// forgotten first.
class BadWays {
 public:
  static constexpr Duration k_remembered = std::chrono::minutes(10);
  static constexpr std::size_t k_max_ways = 4096;

  // `backend` is the number that the gateway uses for it.
  void remember(std::uint32_t backend, const Address& client, Time now);
  bool is_bad(std::uint32_t backend, const Address& client, Time now) const;
  std::size_t size() const { return ways_.size(); }

 private:
  // 24 bits of an IPv4 address, or 56 of an IPv6 address, which one site has to itself (RFC 6177
  // §2)
  using Network = std::array<std::uint8_t, 8>;
  struct Way {
    std::uint32_t backend = 0;
    Network network{};
    Time until;
  };
  static Network network_of(const Address& address);

  std::deque<Way> ways_;  // in the order of `until`
};

}  // namespace sheaf::quic
