#include "channel/source_log.h"

#include <array>
#include <cstring>

namespace sheaf::quic {
namespace {

// A STREAM frame with fewer bytes than this is not worth its header at the end of a packet.
constexpr std::size_t k_min_stream_bytes = 16;

}  // namespace

SourceLog::SourceLog(const Config& config, SourceKeys keys, Authenticator& authenticator)
    : config_(config),
      keys_(std::move(keys)),
      authenticator_(authenticator),
      trailer_(authenticator.trailer_length()),
      ring_(config.packet_size, config.reach),
      slots_(config.reach),
      sealed_end_(config.first),
      sent_end_(config.first),
      group_start_(config.first),
      stopped_(authenticator.max_frame() > capacity() - k_channel_header_length) {
  ring_.forget_before(config.first);
}

bool SourceLog::free_slot() {
  // Proofs are written behind packets that wait, and must not run into them.
  if (stopped_ || written_ - unsealed_ >= config_.reach) return false;
  Slot& next = slot(written_);
  if (next.number == k_no_packet_number) return true;
  if (next.number >= std::min(sent_end_, authenticator_.reads_from())) return false;
  ring_.forget_before(next.number + 1);
  next.number = k_no_packet_number;
  return true;
}

bool SourceLog::open_packet() {
  if (waiting_ >= config_.reach / 2 || !free_slot()) return false;
  open_length_ = k_channel_header_length;
  return true;
}

bool SourceLog::has_room(std::size_t at_least) {
  if (open_length_ > 0 && capacity() - open_length_ < at_least) close_packet(true);
  return open_length_ > 0 || open_packet();
}

void SourceLog::close_packet(bool full) {
  // PADDING frames are zeros.
  if (full) {
    std::memset(ring_.slot(written_).data() + open_length_, 0, capacity() - open_length_);
    open_length_ = capacity();
  }
  slot(written_++).length = static_cast<std::uint16_t>(open_length_);
  ++waiting_;
  open_length_ = 0;
}

void SourceLog::begin_group() {
  begin_packet();
  group_position_ = written_;
  group_start_.reset();
}

void SourceLog::begin_packet() {
  if (open_length_ > 0) close_packet(false);
}

SourceLog::Written SourceLog::write_stream(StreamId stream, std::uint64_t offset, Bytes data,
                                           bool fin) {
  Written done;
  while (done.bytes < data.size() || (fin && !done.fin)) {
    StreamFrameHeader header{.stream = stream, .offset = offset + done.bytes};
    header.length = config_.packet_size;
    const std::size_t head = encoded_size(header);
    const std::size_t rest = data.size() - done.bytes;
    if (!has_room(head + std::min(rest, k_min_stream_bytes))) break;
    header.length = std::min(rest, capacity() - open_length_ - head);
    header.fin = fin && header.length == rest;
    Writer out(ring_.slot(written_).subspan(open_length_));
    encode(out, header);
    out.write_bytes(data.subspan(done.bytes, header.length));
    open_length_ += out.size();
    done.bytes += header.length;
    done.fin = header.fin;
  }
  return done;
}

bool SourceLog::write_frame(const Frame& frame) {
  const std::size_t size = encoded_size(frame);
  if (!has_room(size)) return false;
  Writer out(ring_.slot(written_).subspan(open_length_));
  encode(out, frame);
  open_length_ += size;
  return true;
}

void SourceLog::write_proofs(Time now) {
  if (authenticator_.next_timeout() > now) return;
  for (std::size_t count = k_batch; count == k_batch;) {
    begin_packet();
    std::array<Position, k_batch> positions;
    for (count = 0; count < k_batch && free_slot(); ++count) {
      const MutableBytes packet = ring_.slot(written_).first(capacity());
      const std::size_t frame =
          authenticator_.write_frame(packet.subspan(k_channel_header_length), now);
      if (frame == 0) break;
      slot(written_).length = static_cast<std::uint16_t>(k_channel_header_length + frame);
      positions[count] = written_++;
    }
    seal(std::span(positions).first(count), true, now);
  }
}

bool SourceLog::seal_batch(std::span<const Position> positions, bool are_proofs, Time now) {
  if (!authenticator_.accepts(now)) return false;
  std::array<SealJob, k_batch> jobs;
  std::array<SealedPacket, k_batch> sealed;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const PacketNumber number = sealed_end_ + i;
    const MutableBytes room = ring_.slot(positions[i]);
    const std::size_t length = slot(positions[i]).length;
    Writer out(room);
    write_channel_header(out, config_.channel, keys_.key_phase(number), number, are_proofs);
    jobs[i] = {.packet = room.data(),
               .payload_length = static_cast<std::uint32_t>(length - k_channel_header_length),
               .header_length = k_channel_header_length,
               .packet_number_length = k_channel_number_length,
               .path = {},
               .number = number};
    const MutableBytes datagram = room.first(length + k_aead_tag_length + trailer_);
    sealed[i] = {number, keys_.sequence_of(number), datagram, are_proofs};
  }
  if (!keys_.seal(std::span(jobs).first(positions.size()))) return false;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    ring_.keep_in_slot(sealed[i].number, positions[i], sealed[i].datagram.size(), now);
    slot(positions[i]).number = sealed[i].number;
    if (positions[i] == group_position_) group_start_ = sealed[i].number;
  }
  authenticator_.add(std::span<const SealedPacket>(sealed).first(positions.size()), now);
  sealed_end_ += positions.size();
  return true;
}

void SourceLog::seal(std::span<const Position> positions, bool are_proofs, Time now) {
  while (!positions.empty() && !stopped_) {
    advance_keys(now);
    const PacketNumber under_one_key = keys_.same_key_end(sealed_end_) - sealed_end_;
    const std::size_t count = std::min<std::size_t>(positions.size(), under_one_key);
    stopped_ = !seal_batch(positions.first(count), are_proofs, now);
    if (!stopped_ && !are_proofs) waiting_ -= count;
    positions = positions.subspan(count);
  }
  while (unsealed_ < written_ && slot(unsealed_).number != k_no_packet_number) ++unsealed_;
}

void SourceLog::seal_up_to(PacketNumber end, Time now) {
  while (sealed_end_ < end && !stopped_) {
    if (unsealed_ == written_) begin_packet();
    std::array<Position, k_batch> positions;
    const std::size_t most = std::min<PacketNumber>(k_batch, end - sealed_end_);
    std::size_t count = 0;
    for (Position next = unsealed_; next < written_ && count < most; ++next) {
      if (slot(next).number == k_no_packet_number) positions[count++] = next;
    }
    if (count == 0) return;
    seal(std::span(positions).first(count), false, now);
  }
}

Bytes SourceLog::take_due(std::size_t most, Time now) {
  seal_up_to(sent_end_ + most, now);
  const std::size_t due = static_cast<std::size_t>(sealed_end_ - sent_end_);
  const Bytes packets = ring_.side_by_side(sent_end_, std::min(most, due));
  sent_end_ += (packets.size() + config_.packet_size - 1) / config_.packet_size;
  return packets;
}

void SourceLog::forget_before(PacketNumber number) {
  ring_.forget_before(std::min({number, sent_end_, authenticator_.reads_from()}));
}

}  // namespace sheaf::quic
