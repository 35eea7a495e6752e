#pragma once

#include <cstdint>

#include "sim/connection_pair.h"

namespace sheaf::quic {

// One side sends bytes on a stream as fast as the connection takes them, and the other reads and
// checks them. It measures what the application sees: goodput, and the longest wait.
class BulkTransfer {
 public:
  // Replaces the `on_event` of both hosts. `also` gets the events after this object.
  BulkTransfer(ConnectionPair& pair, Role sender, std::uint64_t bytes);

  std::function<void(Role, const Event&, Time)> also;

  bool finished() const { return finished_; }
  // Bytes that arrived in order
  std::uint64_t received() const { return received_; }
  // Whether every byte that arrived was the one that was sent
  bool intact() const { return intact_; }
  // Mean goodput in bytes per second, since the start or until the end
  double goodput(Time now) const;
  Time started() const { return started_; }
  Time last_progress() const { return last_progress_; }
  // Starts to measure the longest time between two reads of new bytes.
  void watch_stalls(Time now);
  Duration longest_stall() const { return longest_stall_; }

 private:
  void on_event(Role role, const Event& event, Time now);
  void write(Time now);
  void read(StreamId stream, Time now);

  ConnectionPair& pair_;
  Role sender_;
  std::uint64_t bytes_;
  StreamId stream_{};
  std::uint64_t written_ = 0;
  std::uint64_t received_ = 0;
  bool intact_ = true;
  bool finished_ = false;
  Time started_;
  Time last_progress_;
  Duration longest_stall_{};
};

}  // namespace sheaf::quic
