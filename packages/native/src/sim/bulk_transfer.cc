#include "sim/bulk_transfer.h"

#include <algorithm>
#include <cassert>

#include "sim/pattern.h"

namespace sheaf::quic {

BulkTransfer::BulkTransfer(ConnectionPair& pair, Role sender, std::uint64_t bytes)
    : pair_(pair),
      sender_(sender),
      bytes_(bytes),
      started_(pair.simulation.now()),
      last_progress_(started_) {
  for (const Role role : {Role::kClient, Role::kServer}) {
    pair_.host(role).on_event = [this, role](const Event& event, Time now) {
      on_event(role, event, now);
    };
  }
  const auto opened =
      pair_.host(sender_).connection.streams().writer().open(Directionality::kUnidirectional);
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
    // The bytes outlive the connection, so nothing is copied or released.
    const Bytes piece = pattern_from(written_, bytes_ - written_);
    written_ += piece.size();
    const auto result = pair_.host(sender_).connection.streams().writer().write(
        stream_, SendChunk(piece, nullptr, nullptr), written_ == bytes_);
    room = result && *result;
  }
}

void BulkTransfer::read(StreamId stream, Time now) {
  Connection& connection = pair_.host(peer_of(sender_)).connection;
  for (;;) {
    const Bytes bytes = connection.streams().reader().peek(stream);
    intact_ &= matches_pattern(bytes, received_);
    const auto result = connection.streams().reader().consume(stream, bytes.size(), now);
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
  return static_cast<double>(received_) / to_seconds(end - started_);
}

}  // namespace sheaf::quic
