#include "connection/datagram_queue.h"

#include <utility>

#include "wire/frame_codec.h"

namespace sheaf::quic {

bool DatagramQueue::send(Bytes payload, std::uint64_t identifier) {
  const bool taken = outgoing_.push(payload, identifier);
  refused_ = refused_ || !taken;
  return taken;
}

bool DatagramQueue::write_frames(Writer& writer, SentPackets& sent) {
  const std::uint64_t before = sent_count_;
  while (const auto datagram = outgoing_.front()) {
    const Frame frame = DatagramFrame{datagram->payload};
    if (encoded_size(frame) > writer.remaining()) return sent_count_ > before;
    encode(writer, frame);
    sent.add_frame(SentFrame::for_datagram(datagram->tag));
    ++sent_count_;
    written_size_ = datagram->payload.size();
    outgoing_.pop();
  }
  outgoing_.release_spare();
  return sent_count_ > before;
}

bool DatagramQueue::next_is_alike() const {
  const auto next = outgoing_.front();
  return next && next->payload.size() == written_size_;
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

std::size_t DatagramQueue::receive(const ReceivedDatagram& datagram) {
  if (datagram.payload.size() + DatagramRing::k_overhead > incoming_.limit()) return 1;
  std::size_t dropped = 0;
  while (!incoming_.push(datagram.payload, static_cast<std::uint64_t>(datagram.ecn))) {
    incoming_.pop();
    ++dropped;
  }
  ++received_count_;
  return dropped;
}

std::optional<ReceivedDatagram> DatagramQueue::read() {
  if (const auto datagram = incoming_.pop()) {
    return ReceivedDatagram{datagram->payload, static_cast<Ecn>(datagram->tag)};
  }
  incoming_.release_spare();
  return std::nullopt;
}

}  // namespace sheaf::quic
