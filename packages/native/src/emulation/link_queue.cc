#include "emulation/link_queue.h"

namespace sheaf::quic {

void LinkQueue::push(LinkDatagramPointer datagram, const LinkConfig& config, bool limited,
                     Time now) {
  const std::size_t bytes = datagram->payload().size();
  if (limited && (bytes_ + bytes > config.queue_bytes || size() >= config.queue_packets)) {
    ++stats_.queue_full;
    pool_.give_back(std::move(datagram));
    return;
  }
  if (bytes_ > config.mark_bytes) mark(*datagram);
  datagram->queued_at = now;
  bytes_ += bytes;
  datagrams_.push_back(std::move(datagram));
}

LinkDatagramPointer LinkQueue::pop() {
  LinkDatagramPointer datagram = std::move(datagrams_.front());
  datagrams_.pop_front();
  bytes_ -= datagram->payload().size();
  return datagram;
}

void LinkQueue::drop_front() {
  ++stats_.queue_managed;
  pool_.give_back(pop());
}

bool LinkQueue::mark(LinkDatagram& datagram) {
  if (datagram.header.ecn == Ecn::kNotEct) return false;
  datagram.header.ecn = Ecn::kCe;
  ++stats_.marked;
  return true;
}

}  // namespace sheaf::quic
