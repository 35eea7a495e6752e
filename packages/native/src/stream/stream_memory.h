#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::quic {

struct StreamParts;

// The memory of all streams of a connection, divided as stream/send_budget.h says. In bytes.
class StreamMemory {
 public:
  explicit StreamMemory(StreamParts& parts) : parts_(parts) {}

  // From now on; what is held already stays until it is acknowledged.
  void set_total(std::uint64_t bytes);
  // Memory that the application holds for the peer's requests, of the same budget.
  void hold(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  bool has_room_to_hold(std::uint64_t bytes) const;
  // For streams that nobody reads yet.
  bool has_room_to_wait() const;
  // Frees what is kept for streams to come; for a connection that is idle.
  void trim();
  // Buffered and held, for limits and statistics.
  std::size_t used() const;

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
