#pragma once

#include <cstddef>
#include <map>

#include "util/network_key.h"

namespace sheaf::quic {

// Counts what the clients of each network use.
class Networks {
 public:
  struct Use {
    NetworkKey key{};
    std::size_t connections = 0;  // connections that have a place here, including half-open and
                                  // closing ones
    std::size_t evicted = 0;      // connections that were closed to make room
    std::uint64_t memory = 0;     // bytes

    std::size_t counted() const { return connections - evicted; }
  };

  // Counts another connection. The reference is valid until each connection counted has left.
  Use& join(const Address& remote) {
    const NetworkKey key = network_of(remote);
    Use& use = networks_[key];
    use.key = key;
    ++use.connections;
    return use;
  }
  void leave(Use& use) {
    if (--use.connections == 0) networks_.erase(NetworkKey(use.key));
  }
  Use of(const Address& remote) const {
    const auto found = networks_.find(network_of(remote));
    return found == networks_.end() ? Use{} : found->second;
  }
  std::size_t size() const { return networks_.size(); }

 private:
  std::map<NetworkKey, Use> networks_;
};

}  // namespace sheaf::quic
