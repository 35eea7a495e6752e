#pragma once

#include "flow_control/receive_window.h"
#include "stream/block_pool.h"
#include "stream/event_queue.h"
#include "stream/receive_cost.h"
#include "stream/send_budget.h"
#include "stream/stream.h"
#include "stream/stream_set_config.h"

namespace sheaf::quic {

// Says how much of what the application writes the streams of a connection may hold, and tells
// those that were refused when there is room again.
class WriteRoom {
 public:
  // The streams that the peer may open and the data that it may send have their place first.
  // `receive` is the connection's window, which does not grow over what is held, and `blocks` is
  // where received bytes wait.
  WriteRoom(Role role, const StreamSetConfig& config, ReceiveWindow& receive,
            const BlockPool& blocks, EventQueue& events)
      : role_(role),
        send_buffer_(config.send_buffer),
        budget_(config.memory),
        permitted_streams_(ReceiveCost::of_streams(config)),
        receive_(receive),
        blocks_(blocks),
        events_(events) {}

  const SendBudget& budget() const { return budget_; }
  // In bytes, from now on; what is held already stays until it is acknowledged.
  void set_memory(std::uint64_t bytes);
  // Returns the size that the connection's window may grow to, in bytes of credit.
  std::uint64_t max_receive_window() const {
    return ReceiveCost::credit_for(budget_.for_data(for_streams()));
  }
  // The same for a connection that begins.
  static std::uint64_t max_receive_window(const StreamSetConfig& config) {
    const SendBudget budget(config.memory);
    const std::uint64_t streams = std::min(ReceiveCost::of_streams(config), budget.for_streams());
    return ReceiveCost::credit_for(budget.for_data(streams));
  }
  // Memory that the application holds for the peer's requests.
  void hold(std::uint64_t bytes) {
    budget_.hold(bytes);
    bound_window();
  }
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
    if (waiting_.front() == nullptr) return;
    if (changed_ || for_receiving() < received_then_) look_for_room();
  }
  // Something changed that may make room.
  void on_change() { changed_ = true; }
  // The peer acknowledged data of the stream. It does not have to wait for others when it holds
  // nothing any more.
  void on_acknowledged(Stream& stream) {
    changed_ = true;
    if (stream.write_refused && view(stream).entitled) wake(stream);
  }
  // Notes an opened stream. `local`: this side opened it.
  void enter(bool local) { ++(local ? local_streams_ : peer_streams_); }
  // Brings up to date what the budget counts of the stream.
  void count(Stream& stream);
  // The stream does not wait any more.
  void leave(Stream& stream);
  // The stream is gone, with all it held.
  void forget(Stream& stream, bool local);

 private:
  SendBudget::Stream view(const Stream& stream) const {
    return {
        .unsent = stream.send.unsent_bytes() + stream.reserved,
        .credit = stream.send.limit().available(),
        .entitled = opened_by_peer(stream) && stream.send.memory_bytes() + stream.reserved == 0};
  }
  bool opened_by_peer(const Stream& stream) const { return stream.id.initiator() != role_; }
  void look_for_room();
  void bound_window() { receive_.bound_growth(max_receive_window()); }
  // Both in bytes of memory.
  std::uint64_t for_streams() const {
    return std::min(permitted_streams_, budget_.for_streams()) +
           local_streams_ * ReceiveCost::k_stream;
  }
  std::uint64_t for_receiving() const {
    const std::uint64_t taken = blocks_.memory_bytes() + blocks_.table_bytes() +
                                (peer_streams_ + local_streams_) * sizeof(Stream);
    return std::max(ReceiveCost::of_credit(receive_.window()) + for_streams(), taken);
  }

  const Role role_;
  std::uint64_t send_buffer_;
  SendBudget budget_;
  std::uint64_t permitted_streams_;  // memory of those that the peer may open
  std::uint64_t peer_streams_ = 0;   // open ones
  std::uint64_t local_streams_ = 0;
  ReceiveWindow& receive_;
  const BlockPool& blocks_;
  EventQueue& events_;
  StreamList<Stream, &Stream::room_link> waiting_;  // in the order in which they were refused
  bool changed_ = false;                            // since the last look for room
  // The most that `for_receiving` was since then when a stream was refused.
  std::uint64_t received_then_ = 0;
};

// Runs for every packet.
inline void WriteRoom::count(Stream& stream) {
  std::uint64_t held = stream.send.memory_bytes() + stream.reserved;
  // Whoever admitted the stream counted a small chunk.
  if (opened_by_peer(stream)) held -= std::min(held, SendBudget::k_small_chunk);
  const std::uint64_t stalled = view(stream).stalled();
  budget_.hold(held - stream.counted_held);
  budget_.stall(stalled - stream.counted_stalled);
  stream.counted_held = held;
  stream.counted_stalled = stalled;
  bound_window();
}

}  // namespace sheaf::quic
