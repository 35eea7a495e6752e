#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "util/address.h"
#include "util/bytes.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// The properties of a datagram beside its bytes
struct LinkHeader {
  AddressPair path;  // as the receiver sees it
  Ecn ecn = Ecn::kNotEct;
  std::size_t tag = 0;  // chosen by the owner of the link
};

// A datagram that owns its bytes.
struct LinkDatagram {
  std::vector<std::uint8_t> payload;
  LinkHeader header;
  Time queued_at{};
};

using LinkDatagramPointer = std::unique_ptr<LinkDatagram>;

// Keeps datagrams with their memory for later use: a steady flow allocates nothing.
class DatagramPool {
 public:
  LinkDatagramPointer take(Bytes payload, const LinkHeader& header) {
    LinkDatagramPointer datagram;
    if (free_.empty()) {
      datagram = std::make_unique<LinkDatagram>();
    } else {
      datagram = std::move(free_.back());
      free_.pop_back();
    }
    datagram->payload.assign(payload.begin(), payload.end());
    datagram->header = header;
    bytes_in_use_ += footprint(*datagram);
    return datagram;
  }
  void give_back(LinkDatagramPointer datagram) {
    if (!datagram) return;
    bytes_in_use_ -= footprint(*datagram);
    if (free_.size() < k_kept) free_.push_back(std::move(datagram));
  }
  // Bytes in use, including overhead
  std::size_t bytes_in_use() const { return bytes_in_use_; }

 private:
  // Bound on kept datagrams, so that a long queue is freed after it has drained
  static constexpr std::size_t k_kept = 1024;

  static std::size_t footprint(const LinkDatagram& datagram) {
    return sizeof(LinkDatagram) + datagram.payload.size();
  }

  std::vector<LinkDatagramPointer> free_;
  std::size_t bytes_in_use_ = 0;
};

}  // namespace sheaf::quic
