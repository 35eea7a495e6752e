// What the streams of a connection may hold of the bytes that the application writes.

#include <algorithm>
#include <utility>

#include "stream/stream_set_state.h"

namespace sheaf::quic {

// Half of the buffer is empty again: who was refused comes back with more than a packet's worth.
bool StreamSet::State::has_room(const Stream& stream) const {
  const std::uint64_t most = stream.write_refused ? config.send_buffer / 2 + 1 : config.send_buffer;
  return stream.send.unsent_bytes() < most &&
         budget.has_room(budget_view(stream), connection_receive.window());
}

void StreamSet::State::await_room(Stream& stream) {
  stream.write_refused = true;
  room_waiters.push_back(stream);
}

void StreamSet::State::wake(Stream& stream) {
  stream.write_refused = false;
  room_waiters.remove(stream);
  stream.reserved = SendBudget::k_small_chunk;
  count_held(stream);
  events.push(stream, StreamEvent::Kind::kWritable);
}

void StreamSet::State::wake_writers() {
  room_to_look_for = false;
  Stream* next = room_waiters.front();
  while (next != nullptr && budget.has_room(connection_receive.window())) {
    Stream& stream = *std::exchange(next, next->room_link.next);
    if (has_room(stream)) wake(stream);
  }
}

void StreamSet::set_memory(std::uint64_t bytes) {
  State& state = *state_;
  if (state.budget.memory() == bytes) return;
  state.budget.set_memory(bytes);
  state.connection_receive.set_maximum(
      std::min(state.config.max_connection_window, state.budget.max_receive_window()));
  state.room_to_look_for = true;
}

void StreamSet::hold(std::uint64_t bytes) { state_->budget.hold(bytes); }

void StreamSet::release(std::uint64_t bytes) {
  state_->budget.release(bytes);
  state_->room_to_look_for = true;
}

bool StreamSet::has_room_to_hold(std::uint64_t bytes) const {
  return state_->budget.has_room_to_hold(bytes, state_->connection_receive.window());
}

// Streams that wait are no part of what the budget divides: a share of any size has room for what
// the limit of streams allows it to begin with.
bool StreamSet::has_room_to_wait() const { return memory_bytes() <= 2 * state_->budget.memory(); }

void StreamSet::drop() {
  std::vector<StreamId> all;
  all.reserve(state_->streams.size());
  state_->streams.for_each([&](const Stream& stream) { all.push_back(stream.id); });
  for (const StreamId id : all) {
    static_cast<void>(reset(id, 0));
    static_cast<void>(stop_sending(id, 0));
  }
  trim_memory();
}

std::uint64_t StreamSet::reserve(StreamId id) {
  State& state = *state_;
  Stream* stream = state.streams.find(id);
  // `write` says what is wrong with it.
  if (stream == nullptr || !stream->sends || !stream->send.writable()) {
    return SendBudget::k_small_chunk;
  }
  stream->reserved = 0;
  state.count_held(*stream);
  const std::uint64_t size =
      state.has_room(*stream)
          ? state.budget.chunk_size(state.budget_view(*stream), state.connection_receive.window())
          : 0;
  if (size == 0) {
    state.await_room(*stream);
  } else {
    stream->reserved = size;
    state.count_held(*stream);
  }
  return size;
}

std::size_t StreamSet::memory_bytes() const {
  return state_->blocks.memory_bytes() + state_->streams.memory_bytes() +
         static_cast<std::size_t>(state_->budget.held());
}

}  // namespace sheaf::quic
