#include "connection/crypto_stream.h"

#include <algorithm>

#include "wire/frame_codec.h"

namespace sheaf::quic {

void CryptoStream::write(Bytes messages) {
  if (messages.empty()) return;
  unsent_.insert(outgoing_.size(), outgoing_.size() + messages.size());
  outgoing_.insert(outgoing_.end(), messages.begin(), messages.end());
}

bool CryptoStream::has_pending() const { return !unsent_.empty(); }

void CryptoStream::write_frames(Writer& writer, SentPackets& sent) {
  constexpr std::size_t k_min_useful = 16;
  while (!unsent_.empty()) {
    const auto first = *unsent_.begin();
    const std::size_t header = 1 + varint_size(first.start) + 2;
    if (writer.remaining() < header + k_min_useful) return;
    const std::size_t length =
        std::min<std::uint64_t>(first.end - first.start, writer.remaining() - header);
    const Bytes data = Bytes(outgoing_).subspan(first.start, length);
    encode(writer, Frame{CryptoFrame{first.start, data}});
    sent.add_frame(SentFrame::for_crypto(first.start, static_cast<std::uint32_t>(length)));
    unsent_.erase(first.start, first.start + length);
  }
}

void CryptoStream::on_acknowledged(const SentFrame& frame) {
  acknowledged_.insert(frame.offset(), frame.offset() + frame.length());
  unsent_.erase(frame.offset(), frame.offset() + frame.length());
}

void CryptoStream::on_lost(const SentFrame& frame) {
  unsent_.insert(frame.offset(), frame.offset() + frame.length());
  for (const auto& interval : acknowledged_) unsent_.erase(interval.start, interval.end);
}

TransportStatus CryptoStream::on_frame(const CryptoFrame& frame) {
  const std::uint64_t end = frame.offset + frame.data.size();
  if (end <= read_) return {};
  if (end - read_ > k_receive_limit) {
    return TransportError{TransportErrorCode::kCryptoBufferExceeded,
                          static_cast<std::uint64_t>(FrameType::kCrypto),
                          "more TLS data than is buffered"};
  }
  const std::uint64_t start = std::max(frame.offset, read_);
  if (incoming_.size() < end - read_) incoming_.resize(end - read_);
  const Bytes fresh = frame.data.subspan(start - frame.offset);
  std::copy(fresh.begin(), fresh.end(),
            incoming_.begin() + static_cast<std::ptrdiff_t>(start - read_));
  received_.insert(start, end);
  return {};
}

bool CryptoStream::readable() const {
  return !received_.empty() && received_.begin()->start == read_;
}

std::vector<std::uint8_t> CryptoStream::read() {
  if (!readable()) return {};
  const std::uint64_t end = received_.begin()->end;
  const auto split = incoming_.begin() + static_cast<std::ptrdiff_t>(end - read_);
  std::vector<std::uint8_t> out(incoming_.begin(), split);
  incoming_.erase(incoming_.begin(), split);
  received_.erase(read_, end);
  read_ = end;
  return out;
}

}  // namespace sheaf::quic
