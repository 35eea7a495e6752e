#include "http3/datagram_router.h"

#include <utility>

namespace sheaf::http3 {

namespace {

// A stream id has 62 bits (RFC 9000 §2.1).
std::uint64_t tag_of(const HttpDatagram& datagram) {
  return datagram.stream.value << 2 | static_cast<std::uint64_t>(datagram.outer_ecn);
}

}  // namespace

template <typename Keep>
void DatagramRouter::sift(Keep&& keep) {
  if (waiting_.empty()) return;
  quic::DatagramRing waiting = std::exchange(waiting_, quic::DatagramRing(k_ring_size));
  waiting_bytes_ = 0;
  while (const auto entry = waiting.pop()) {
    const auto ecn = static_cast<quic::Ecn>(entry->tag & 3);
    const HttpDatagram datagram{{entry->tag >> 2}, entry->payload, ecn};
    if (keep(datagram)) hold(datagram);
  }
}

void DatagramRouter::claim(StreamId request, DatagramConsumer& consumer) {
  consumers_[request] = &consumer;
  sift([this](const HttpDatagram& datagram) { return !deliver(datagram); });
}

void DatagramRouter::release(StreamId request) {
  consumers_.erase(request);
  sift([request](const HttpDatagram& datagram) { return datagram.stream != request; });
}

bool DatagramRouter::deliver(HttpDatagram datagram) {
  const auto found = consumers_.find(datagram.stream);
  if (found == consumers_.end()) return false;
  found->second->on_datagram(datagram);
  return true;
}

void DatagramRouter::hold(HttpDatagram datagram) {
  const std::size_t size = datagram.payload.size();
  if (waiting_.size() == k_max_waiting || waiting_bytes_ + size > k_max_waiting_bytes) return;
  if (waiting_.push(datagram.payload, tag_of(datagram))) waiting_bytes_ += size;
}

}  // namespace sheaf::http3
