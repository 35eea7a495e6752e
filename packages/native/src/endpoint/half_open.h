#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "util/address.h"

namespace sheaf::quic {

// Handshakes under way, and how many of them come from one network: an IPv4 address, or the 64 bits
// of an IPv6 address that one host has to itself (RFC 4291 §2.5.1).
class HalfOpen {
 public:
  void add(const Address& remote) {
    ++all_;
    ++by_network_[network_of(remote)];
  }
  void remove(const Address& remote) {
    --all_;
    const auto found = by_network_.find(network_of(remote));
    if (--found->second == 0) by_network_.erase(found);
  }
  std::size_t all() const { return all_; }
  std::size_t from(const Address& remote) const {
    const auto found = by_network_.find(network_of(remote));
    return found == by_network_.end() ? 0 : found->second;
  }

 private:
  using Network = std::array<std::uint8_t, 8>;
  static Network network_of(const Address& address) {
    Network network{};
    std::copy_n(address.ip.begin(), network.size(), network.begin());
    return network;
  }

  std::size_t all_ = 0;
  std::map<Network, std::size_t> by_network_;
};

}  // namespace sheaf::quic
