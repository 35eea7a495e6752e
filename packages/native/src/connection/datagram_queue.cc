#include "connection/datagram_queue.h"

#include "wire/frame_codec.h"

namespace sheaf::quic {

bool DatagramQueue::send(Bytes payload, std::uint64_t identifier) {
  if (outgoing_.size() >= limit_) return false;
  outgoing_.push_back({{payload.begin(), payload.end()}, identifier});
  return true;
}

void DatagramQueue::write_frames(Writer& writer, SentPackets& sent) {
  while (!outgoing_.empty()) {
    const Outgoing& datagram = outgoing_.front();
    const Frame frame = DatagramFrame{datagram.payload};
    if (encoded_size(frame) > writer.remaining()) return;
    encode(writer, frame);
    sent.add_frame({.offset = datagram.identifier, .kind = SentFrame::Kind::kDatagram});
    ++sent_count_;
    outgoing_.pop_front();
  }
}

std::optional<std::uint64_t> DatagramQueue::discard_larger_than(std::size_t packet_room) {
  if (outgoing_.empty() ||
      encoded_size(Frame{DatagramFrame{outgoing_.front().payload}}) <= packet_room) {
    return std::nullopt;
  }
  const std::uint64_t identifier = outgoing_.front().identifier;
  outgoing_.pop_front();
  return identifier;
}

bool DatagramQueue::receive(Bytes payload) {
  if (incoming_.size() >= limit_) return false;
  incoming_.push_back({payload.begin(), payload.end()});
  ++received_count_;
  return true;
}

std::optional<std::vector<std::uint8_t>> DatagramQueue::read() {
  if (incoming_.empty()) return std::nullopt;
  std::vector<std::uint8_t> payload = std::move(incoming_.front());
  incoming_.pop_front();
  return payload;
}

}  // namespace sheaf::quic
