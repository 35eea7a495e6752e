#pragma once

#include <utility>
#include <vector>

#include "connection/transmit.h"

namespace sheaf::quic {

// Keeps 1-RTT packets that overtook the client's Finished, up to a bound.
class HeldPackets {
 public:
  struct Held {
    std::vector<std::uint8_t> bytes;
    AddressPair path;
    Ecn ecn;
  };
  // Copies the packet. Returns false when `maximum` bytes have no room for it.
  bool hold(const Datagram& datagram, std::size_t maximum) {
    if (bytes_ + datagram.payload.size() > maximum) return false;
    bytes_ += datagram.payload.size();
    packets_.push_back(
        {{datagram.payload.begin(), datagram.payload.end()}, datagram.path, datagram.ecn});
    return true;
  }
  std::vector<Held> take() {
    bytes_ = 0;
    return std::exchange(packets_, {});
  }

 private:
  std::vector<Held> packets_;
  std::size_t bytes_ = 0;
};

}  // namespace sheaf::quic
