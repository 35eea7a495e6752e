#include "stream/stream_memory.h"

#include <algorithm>

#include "stream/stream_parts.h"

namespace sheaf::quic {

void StreamMemory::set_total(std::uint64_t bytes) {
  const SendBudget& budget = parts_.room.budget();
  if (budget.memory() == bytes) return;
  parts_.room.set_memory(bytes);
  parts_.limits.receive.set_maximum(
      std::min(parts_.config.max_connection_window, budget.max_receive_window()));
}

void StreamMemory::hold(std::uint64_t bytes) { parts_.room.hold(bytes); }

void StreamMemory::release(std::uint64_t bytes) { parts_.room.release(bytes); }

bool StreamMemory::has_room_to_hold(std::uint64_t bytes) const {
  return parts_.room.has_room_to_hold(bytes);
}

// Streams that wait are not part of the memory that the budget divides. Twice its size has room for
// the data that the initial limit of streams allows.
bool StreamMemory::has_room_to_wait() const { return used() <= 2 * parts_.room.budget().memory(); }

void StreamMemory::trim() { parts_.open.trim(); }

std::size_t StreamMemory::used() const {
  return parts_.open.memory_bytes() + static_cast<std::size_t>(parts_.room.budget().held());
}

}  // namespace sheaf::quic
