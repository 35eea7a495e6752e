#include "recovery/sent_packets.h"

#include <algorithm>
#include <cassert>

namespace sheaf::quic {

namespace {

constexpr std::size_t k_initial_ring = 8;

}  // namespace

void SentPackets::grow_packets() {
  std::vector<SentPacket> larger(std::max(k_initial_ring, 2 * packets_.size()));
  for (PacketNumber number = oldest_; number < next_; ++number) {
    larger[number & (larger.size() - 1)] = at(number);
  }
  packets_ = std::move(larger);
  packet_mask_ = packets_.size() - 1;
}

void SentPackets::grow_frames() {
  std::vector<SentFrame> larger(std::max(k_initial_ring, 2 * frames_.size()));
  for (std::uint32_t index = frames_begin_; index != frames_end_; ++index) {
    larger[index & (larger.size() - 1)] = frame_at(index);
  }
  frames_ = std::move(larger);
  frame_mask_ = frames_.size() - 1;
}

void SentPackets::skip_number() {
  skipped_[skips_++ % k_remembered_skips] = next_;
  if (next_ - oldest_ == packet_mask_ + 1) grow_packets();
  at(next_) = {.first_frame = frames_end_, .state = SentPacket::State::kSkipped};
  ++next_;
}

bool SentPackets::skipped_in(PacketNumber first, PacketNumber last) const {
  return std::any_of(std::begin(skipped_), std::end(skipped_),
                     [=](PacketNumber skipped) { return skipped >= first && skipped <= last; });
}

PacketNumber SentPackets::commit(const SentPacket& packet) {
  if (next_ - oldest_ == packet_mask_ + 1) grow_packets();
  SentPacket& kept = at(next_);
  kept = packet;
  kept.first_frame = frames_end_;
  kept.frame_count = static_cast<std::uint16_t>(pending_.size());
  for (const SentFrame& frame : pending_) {
    if (frames_end_ - frames_begin_ == frame_mask_ + 1) grow_frames();
    frames_[frames_end_++ & frame_mask_] = frame;
  }
  pending_.clear();
  return next_++;
}

PacketNumber SentPackets::commit_run(const SentPacket& packet, std::size_t count,
                                     const RunData& data) {
  assert(pending_.empty());
  const PacketNumber first = next_;
  std::uint64_t offset = data.offset;
  for (std::size_t left = count; left > 0; --left) {
    add_frame(
        SentFrame::for_data(data.stream, offset, data.bytes_per_packet, data.fin && left == 1));
    commit(packet);
    offset += data.bytes_per_packet;
  }
  return first;
}

void SentPackets::refuse(PacketNumber number) {
  at(number).state = SentPacket::State::kRefused;
  refused_.insert(number);
  if (refused_.size() > k_remembered_refusals) refused_.pop_front();
}

void SentPackets::end_stream(PacketNumber number) {
  SentFrame& frame = frame_at(at(number).first_frame);
  frame = SentFrame::for_data(frame.stream(), frame.offset(), frame.length(), true);
}

void SentPackets::prune(Time keep_lost_since) {
  while (oldest_ < next_) {
    const SentPacket& packet = at(oldest_);
    if (packet.state == SentPacket::State::kLost && packet.time_sent >= keep_lost_since) break;
    if (packet.state == SentPacket::State::kOutstanding &&
        (packet.in_flight || next_ - oldest_ <= k_max_kept_unacknowledged)) {
      break;
    }
    frames_begin_ = packet.first_frame + packet.frame_count;
    ++oldest_;
  }
}

std::size_t SentPackets::memory_bytes() const {
  return packets_.capacity() * sizeof(SentPacket) +
         (frames_.capacity() + pending_.capacity()) * sizeof(SentFrame);
}

}  // namespace sheaf::quic
