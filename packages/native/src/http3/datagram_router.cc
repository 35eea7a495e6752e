#include "http3/datagram_router.h"

#include <utility>

namespace sheaf::http3 {

void DatagramRouter::claim(StreamId request, DatagramConsumer& consumer) {
  std::deque<HttpDatagram> waiting;
  std::swap(waiting, waiting_);
  waiting_bytes_ = 0;
  consumers_[request] = &consumer;
  for (HttpDatagram& datagram : waiting) {
    if (!deliver(datagram)) hold(std::move(datagram));
  }
}

void DatagramRouter::release(StreamId request) {
  consumers_.erase(request);
  std::erase_if(waiting_, [&](const HttpDatagram& datagram) {
    if (datagram.stream != request) return false;
    waiting_bytes_ -= datagram.storage.size();
    return true;
  });
}

bool DatagramRouter::deliver(HttpDatagram& datagram) {
  const auto found = consumers_.find(datagram.stream);
  if (found == consumers_.end()) return false;
  found->second->on_datagram(std::move(datagram));
  return true;
}

void DatagramRouter::hold(HttpDatagram datagram) {
  const std::size_t size = datagram.storage.size();
  if (waiting_.size() == k_max_waiting || waiting_bytes_ + size > k_max_waiting_bytes) return;
  waiting_bytes_ += size;
  waiting_.push_back(std::move(datagram));
}

}  // namespace sheaf::http3
