#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::quic {

struct StreamParts;

// The memory of all streams of a connection in bytes, divided as stream/send_budget.h says.
class StreamMemory {
 public:
  explicit StreamMemory(StreamParts& parts) : parts_(parts) {}

  // Sets the memory from now on; data held already stays until it is acknowledged.
  void set_total(std::uint64_t bytes);
  // Counts memory that the application holds for the peer's requests, in the same budget.
  void hold(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  bool has_room_to_hold(std::uint64_t bytes) const;
  // Returns whether there is room for streams that nobody reads yet.
  bool has_room_to_wait() const;
  // Frees the memory kept for future streams; for a connection that is idle.
  void trim();
  // Returns the bytes buffered and held, for limits and statistics.
  std::size_t used() const;

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
