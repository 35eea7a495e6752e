#include "connection/datagram_queue.h"

#include <algorithm>
#include <utility>

#include "wire/frame_codec.h"

namespace sheaf::quic {

bool DatagramQueue::send(Bytes payload, std::uint64_t identifier) {
  limit_by_memory(outgoing_);
  const bool taken = outgoing_.push(payload, identifier);
  count();
  refused_ = refused_ || !taken;
  return taken;
}

void DatagramQueue::write_frames(Writer& writer, SentPackets& sent) {
  while (const auto datagram = outgoing_.front()) {
    const Frame frame = DatagramFrame{datagram->payload};
    if (encoded_size(frame) > writer.remaining()) return;
    encode(writer, frame);
    sent.add_frame(SentFrame::for_datagram(datagram->tag));
    ++sent_count_;
    outgoing_.pop();
  }
  outgoing_.release_spare();
  count();
}

std::optional<std::uint64_t> DatagramQueue::discard_larger_than(std::size_t packet_room) {
  const auto first = outgoing_.front();
  if (!first || encoded_size(Frame{DatagramFrame{first->payload}}) <= packet_room) {
    return std::nullopt;
  }
  return outgoing_.pop()->tag;
}

bool DatagramQueue::take_writable() {
  return outgoing_.bytes() <= outgoing_.limit() / 2 && std::exchange(refused_, false);
}

std::size_t DatagramQueue::receive(Bytes payload) {
  limit_by_memory(incoming_);
  if (payload.size() + DatagramRing::k_overhead > incoming_.limit()) return 1;
  std::size_t dropped = 0;
  while (!incoming_.push(payload, 0)) {
    incoming_.pop();
    ++dropped;
  }
  ++received_count_;
  count();
  return dropped;
}

std::optional<Bytes> DatagramQueue::read() {
  if (const auto datagram = incoming_.pop()) return datagram->payload;
  incoming_.release_spare();
  count();
  return std::nullopt;
}

// An array that grows is doubled.
void DatagramQueue::limit_by_memory(DatagramRing& ring) {
  const std::size_t more = std::max(ring.allocated(), k_least);
  ring.set_limit(memory_.has_room_to_hold(more) ? limit_ : std::min(limit_, more));
}

void DatagramQueue::count() {
  const std::size_t allocated = outgoing_.allocated() + incoming_.allocated();
  if (allocated > counted_) memory_.hold(allocated - counted_);
  if (allocated < counted_) memory_.release(counted_ - allocated);
  counted_ = allocated;
}

}  // namespace sheaf::quic
