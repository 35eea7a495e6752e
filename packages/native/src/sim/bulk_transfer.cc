#include "sim/bulk_transfer.h"

#include <algorithm>
#include <cassert>

namespace sheaf::quic {

namespace {

// A prime length, so that bytes at a wrong offset are noticed.
constexpr std::size_t k_pattern = 65521;

}  // namespace

BulkTransfer::BulkTransfer(ConnectionPair& pair, Role sender, std::uint64_t bytes)
    : pair_(pair),
      sender_(sender),
      bytes_(bytes),
      started_(pair.simulation.now()),
      last_progress_(started_),
      pattern_(2 * k_pattern) {
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    const std::size_t at = i % k_pattern;
    pattern_[i] = static_cast<std::uint8_t>(at ^ at >> 8);
  }
  for (const Role role : {Role::kClient, Role::kServer}) {
    pair_.host(role).on_event = [this, role](const Event& event, Time now) {
      on_event(role, event, now);
    };
  }
  const auto opened = pair_.host(sender_).connection.open_stream(Directionality::kUnidirectional);
  assert(opened);
  stream_ = *opened;
  write(started_);
}

void BulkTransfer::on_event(Role role, const Event& event, Time now) {
  if (const auto* stream = std::get_if<StreamEvent>(&event)) {
    if (role == sender_ && stream->kind == StreamEvent::Kind::kWritable) write(now);
    if (role != sender_ && stream->kind == StreamEvent::Kind::kReadable) read(stream->stream, now);
  }
  if (also) also(role, event, now);
}

void BulkTransfer::write(Time) {
  bool room = true;
  while (room && written_ < bytes_) {
    const std::size_t size = std::min<std::uint64_t>(k_pattern, bytes_ - written_);
    // The pattern outlives the connection: nothing is copied or released.
    const Bytes piece(pattern_.data() + written_ % k_pattern, size);
    written_ += size;
    const auto result = pair_.host(sender_).connection.write(
        stream_, SendChunk(piece, nullptr, nullptr), written_ == bytes_);
    room = result && *result;
  }
}

void BulkTransfer::read(StreamId stream, Time now) {
  Connection& connection = pair_.host(peer_of(sender_)).connection;
  for (;;) {
    const Bytes bytes = connection.peek(stream);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t offset = (received_ + at) % k_pattern;
      const std::size_t size = std::min(bytes.size() - at, k_pattern);
      intact_ &= std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                            bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                            pattern_.begin() + static_cast<std::ptrdiff_t>(offset));
      at += size;
    }
    const auto result = connection.consume(stream, bytes.size(), now);
    if (!result) return;
    received_ += result->bytes;
    finished_ |= result->finished;
    if (result->bytes == 0) return;
    longest_stall_ = std::max(longest_stall_, now - last_progress_);
    last_progress_ = now;
  }
}

void BulkTransfer::watch_stalls(Time now) {
  longest_stall_ = {};
  last_progress_ = now;
}

double BulkTransfer::goodput(Time now) const {
  const Time end = finished_ ? last_progress_ : now;
  return static_cast<double>(received_) / std::chrono::duration<double>(end - started_).count();
}

}  // namespace sheaf::quic
