#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "util/address.h"
#include "util/bytes.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// What goes with a datagram's bytes.
struct LinkHeader {
  AddressPair path;  // as the receiver sees it
  Ecn ecn = Ecn::kNotEct;
  std::size_t tag = 0;  // the owner's of the link
};

// A datagram that owns its bytes.
struct LinkDatagram {
  std::vector<std::uint8_t> payload;
  LinkHeader header;
  Time queued_at{};
};

using LinkDatagramPointer = std::unique_ptr<LinkDatagram>;

// Datagrams with their room for bytes, used again: a link allocates only when more are under way
// than ever before.
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
    return datagram;
  }
  void give_back(LinkDatagramPointer datagram) {
    if (datagram) free_.push_back(std::move(datagram));
  }

 private:
  std::vector<LinkDatagramPointer> free_;
};

}  // namespace sheaf::quic
