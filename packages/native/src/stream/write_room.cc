#include "stream/write_room.h"

#include <utility>

namespace sheaf::quic {

void WriteRoom::set_memory(std::uint64_t bytes) {
  budget_.set_memory(bytes);
  changed_ = true;
}

void WriteRoom::release(std::uint64_t bytes) {
  budget_.release(bytes);
  changed_ = true;
}

// A stream that was refused waits until half of its buffer is empty, so that it has more than a
// packet's worth to write.
bool WriteRoom::has_room(const Stream& stream) const {
  const std::uint64_t bound = stream.write_refused ? send_buffer_ / 2 + 1 : send_buffer_;
  return unsent_here(stream) < bound && budget_.has_room(view(stream), for_receiving());
}

std::uint64_t WriteRoom::reserve(Stream& stream) {
  stream.reserved = 0;
  count(stream);
  const std::uint64_t size =
      has_room(stream) ? budget_.chunk_size(view(stream), for_receiving()) : 0;
  if (size == 0) {
    await(stream);
  } else {
    stream.reserved = size;
    count(stream);
  }
  return size;
}

void WriteRoom::await(Stream& stream) {
  stream.write_refused = true;
  waiting_.push_back(stream);
}

void WriteRoom::wake(Stream& stream) {
  stream.write_refused = false;
  waiting_.remove(stream);
  stream.reserved = SendBudget::k_small_chunk;
  count(stream);
  events_.push(stream, StreamEvent::Kind::kWritable);
}

void WriteRoom::look_for_room() {
  changed_ = false;
  Stream* next = waiting_.front();
  while (next != nullptr && budget_.has_room(for_receiving())) {
    Stream& stream = *std::exchange(next, next->room_link.next);
    if (has_room(stream)) wake(stream);
  }
}

void WriteRoom::leave(Stream& stream) {
  waiting_.remove(stream);
  changed_ = true;
}

void WriteRoom::forget(Stream& stream) {
  leave(stream);
  budget_.release(stream.counted_held);
  budget_.unstall(stream.counted_stalled);
}

}  // namespace sheaf::quic
