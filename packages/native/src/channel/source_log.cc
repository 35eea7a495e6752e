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
      lengths_(std::make_unique<std::uint16_t[]>(config.reach)),
      written_end_(config.first),
      sealed_end_(config.first),
      sent_end_(config.first) {
  ring_.forget_before(config.first);
}

bool SourceLog::open_packet() {
  if (stopped_) return false;
  const PacketNumber in_use = std::min(sent_end_, authenticator_.reads_from());
  if (written_end_ - in_use >= config_.reach / 2) return false;
  Writer out(ring_.room(written_end_));
  write_channel_header(out, config_.channel, keys_.key_phase(written_end_), written_end_);
  open_length_ = out.size();
  return true;
}

bool SourceLog::has_room(std::size_t at_least) {
  if (open_length_ > 0 && capacity() - open_length_ < at_least) close_packet(true);
  return open_length_ > 0 || open_packet();
}

void SourceLog::close_packet(bool full) {
  const MutableBytes room = ring_.room(written_end_);
  // PADDING frames are zeros.
  if (full) {
    std::memset(room.data() + open_length_, 0, capacity() - open_length_);
    open_length_ = capacity();
  }
  lengths_[written_end_ % config_.reach] = static_cast<std::uint16_t>(open_length_);
  open_length_ = 0;
  ++written_end_;
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
    Writer out(ring_.room(written_end_).subspan(open_length_));
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
  Writer out(ring_.room(written_end_).subspan(open_length_));
  encode(out, frame);
  open_length_ += size;
  return true;
}

bool SourceLog::seal_batch(PacketNumber end, Time now) {
  if (!authenticator_.accepts(now)) return false;
  std::array<SealJob, k_batch> jobs;
  std::array<SealedPacket, k_batch> sealed;
  std::size_t count = 0;
  for (PacketNumber number = sealed_end_; number < end; ++number, ++count) {
    const MutableBytes room = ring_.room(number);
    const std::size_t length = lengths_[number % config_.reach];
    jobs[count] = {.packet = room.data(),
                   .payload_length = static_cast<std::uint32_t>(length - k_channel_header_length),
                   .header_length = k_channel_header_length,
                   .packet_number_length = k_channel_number_length,
                   .path = {},
                   .number = number};
    const std::size_t total = length + k_aead_tag_length + trailer_;
    sealed[count] = {number, keys_.sequence_of(number), room.first(total)};
  }
  if (!keys_.seal(std::span(jobs).first(count))) return false;
  for (const SealedPacket& packet : std::span(sealed).first(count)) {
    ring_.keep(packet.number, packet.datagram.size(), now);
  }
  authenticator_.add(std::span<const SealedPacket>(sealed).first(count), now);
  sealed_end_ = end;
  return true;
}

void SourceLog::seal_up_to(PacketNumber end, Time now) {
  if (open_length_ > 0 && written_end_ < end) close_packet(false);
  end = std::min(end, written_end_);
  while (sealed_end_ < end && !stopped_) {
    advance_keys(now);
    const PacketNumber batch_end =
        std::min({end, sealed_end_ + k_batch, keys_.same_key_end(sealed_end_)});
    stopped_ = !seal_batch(batch_end, now);
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
