#pragma once

#include "flow_control/receive_window.h"
#include "stream/block_pool.h"
#include "stream/event_queue.h"
#include "stream/send_budget.h"
#include "stream/stream.h"
#include "stream/stream_set_config.h"

namespace sheaf::quic {

// Says how much of what the application writes the streams of a connection may hold, and tells
// those that were refused when there is room again.
class WriteRoom {
 public:
  // What the peer may send has its place first: `receive` is the connection's window, and `blocks`
  // is where received bytes wait, which may take more.
  WriteRoom(const StreamSetConfig& config, const ReceiveWindow& receive, const BlockPool& blocks,
            EventQueue& events)
      : send_buffer_(config.send_buffer),
        budget_(config.memory),
        receive_(receive),
        blocks_(blocks),
        events_(events) {}

  const SendBudget& budget() const { return budget_; }
  // In bytes, from now on; what is held already stays until it is acknowledged.
  void set_memory(std::uint64_t bytes);
  // Memory that the application holds for the peer's requests.
  void hold(std::uint64_t bytes) { budget_.hold(bytes); }
  void release(std::uint64_t bytes);
  bool has_room_to_hold(std::uint64_t bytes) const {
    return budget_.has_room_to_hold(bytes, for_receiving());
  }

  bool has_room(const Stream& stream) const;
  // How large a chunk to write next, kept free until then; 0: the stream is told when to ask again.
  std::uint64_t reserve(Stream& stream);
  // The stream is told when there is room again.
  void await(Stream& stream);
  void wake(Stream& stream);
  // Wakes those for which there is room, if anything changed since the last time.
  void wake_waiting() {
    if (changed_) look_for_room();
  }
  // Something changed that may make room.
  void on_change() { changed_ = true; }
  // Brings up to date what the budget counts of the stream.
  void count(Stream& stream);
  // The stream does not wait any more.
  void leave(Stream& stream);
  // The stream is gone, with all it held.
  void forget(Stream& stream);

 private:
  static SendBudget::Stream view(const Stream& stream) {
    return {.unsent = unsent_here(stream) + stream.reserved,
            .credit = stream.send.limit().available()};
  }
  // Remote bytes take no memory. For a stream that has some, all bytes that are held here count.
  static std::uint64_t unsent_here(const Stream& stream) {
    return stream.send.elsewhere().sender == 0 ? stream.send.unsent_bytes()
                                               : stream.send.buffer().held_bytes();
  }
  void look_for_room();
  // Bytes of memory.
  std::uint64_t for_receiving() const {
    return std::max<std::uint64_t>(receive_.window(), blocks_.memory_bytes());
  }

  std::uint64_t send_buffer_;
  SendBudget budget_;
  const ReceiveWindow& receive_;
  const BlockPool& blocks_;
  EventQueue& events_;
  StreamList<Stream, &Stream::room_link> waiting_;  // in the order in which they were refused
  bool changed_ = false;                            // since the last look for room
};

// Runs for every packet.
inline void WriteRoom::count(Stream& stream) {
  const std::uint64_t held = stream.send.buffer().held_bytes() + stream.reserved;
  const std::uint64_t stalled = view(stream).stalled();
  budget_.hold(held - stream.counted_held);
  budget_.stall(stalled - stream.counted_stalled);
  stream.counted_held = held;
  stream.counted_stalled = stalled;
}

}  // namespace sheaf::quic
