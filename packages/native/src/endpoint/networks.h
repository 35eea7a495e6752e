#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "util/address.h"

namespace sheaf::quic {

// Counts what the clients of each network use. A network is an IPv4 address, or the 56 bits of an
// IPv6 address that a household or a small site has to itself (RFC 6177 §2).
class Networks {
 public:
  using Key = std::array<std::uint8_t, 8>;
  struct Use {
    Key key{};
    std::size_t connections = 0;  // connections that have a place here, including half-open and
                                  // closing ones
    std::size_t half_open = 0;    // connections whose handshake is pending
    std::size_t evicted = 0;      // connections that were closed to make room
    std::uint64_t memory = 0;     // bytes

    std::size_t counted() const { return connections - evicted; }
  };

  static Key key_of(const Address& address) {
    Key key{static_cast<std::uint8_t>(address.family)};
    std::copy_n(address.ip.begin(), key.size() - 1, key.begin() + 1);
    return key;
  }
  // Counts another connection. The reference is valid until each connection counted has left.
  Use& join(const Address& remote) {
    const Key key = key_of(remote);
    Use& use = networks_[key];
    use.key = key;
    ++use.connections;
    return use;
  }
  void leave(Use& use) {
    if (--use.connections == 0) networks_.erase(Key(use.key));
  }
  Use of(const Address& remote) const {
    const auto found = networks_.find(key_of(remote));
    return found == networks_.end() ? Use{} : found->second;
  }
  std::size_t size() const { return networks_.size(); }

 private:
  std::map<Key, Use> networks_;
};

}  // namespace sheaf::quic
