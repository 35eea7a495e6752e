#pragma once

#include "flow_control/receive_window.h"
#include "stream/block_pool.h"
#include "stream/event_queue.h"
#include "stream/receive_cost.h"
#include "stream/send_budget.h"
#include "stream/stream.h"
#include "stream/stream_set_config.h"

namespace sheaf::quic {

// Decides how many bytes of what the application writes the streams of a connection may hold. Tells
// the streams that were refused when there is room again.
class WriteRoom {
 public:
  // Streams that the peer may open and data that it may send take precedence. `receive` is the
  // connection's window, which does not grow beyond the memory that is left. `blocks` holds
  // received bytes.
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
  // Sets the memory in bytes. Data that is already held stays until it is acknowledged.
  void set_memory(std::uint64_t bytes);
  // Returns the size that the connection's window may grow to, in bytes of credit.
  std::uint64_t max_receive_window() const {
    return ReceiveCost::credit_for(budget_.for_data(for_streams()));
  }
  // Returns the same for a connection that begins.
  static std::uint64_t max_receive_window(const StreamSetConfig& config) {
    const SendBudget budget(config.memory);
    const std::uint64_t streams = std::min(ReceiveCost::of_streams(config), budget.for_streams());
    return ReceiveCost::credit_for(budget.for_data(streams));
  }
  // Counts memory that the application holds for the peer's requests.
  void hold(std::uint64_t bytes) {
    budget_.hold(bytes);
    bound_window();
  }
  void release(std::uint64_t bytes);
  bool has_room_to_hold(std::uint64_t bytes) const {
    return budget_.has_room_to_hold(bytes, for_receiving());
  }

  bool has_room(const Stream& stream) const;
  // Returns the size, in bytes, of the next chunk to write, and reserves this room until it is
  // written. After 0, the stream is told when to ask again.
  std::uint64_t reserve(Stream& stream);
  // Lets the stream know when there is room again.
  void await(Stream& stream);
  void wake(Stream& stream);
  // Wakes the streams for which there is room, if anything has changed since the last call.
  void wake_waiting() {
    if (waiting_.front() == nullptr) return;
    if (changed_ || for_receiving() < received_then_) look_for_room();
  }
  // Notes a change that may make room.
  void on_change() { changed_ = true; }
  // Notes that the peer acknowledged data of the stream. A stream that holds nothing any more need
  // not wait for others.
  void on_acknowledged(Stream& stream) {
    changed_ = true;
    if (stream.write_refused && view(stream).entitled) wake(stream);
  }
  // Counts an opened stream. `local` says that this side opened it.
  void enter(bool local) { ++(local ? local_streams_ : peer_streams_); }
  // Updates the shares of the stream in the budget.
  void count(Stream& stream);
  // Stops waiting for this stream.
  void leave(Stream& stream);
  // Forgets a stream and everything that it held.
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
  // Both return memory, in bytes.
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
  std::uint64_t permitted_streams_;  // memory of the streams that the peer may open
  std::uint64_t peer_streams_ = 0;   // number of open streams
  std::uint64_t local_streams_ = 0;
  ReceiveWindow& receive_;
  const BlockPool& blocks_;
  EventQueue& events_;
  StreamList<Stream, &Stream::room_link> waiting_;  // in the order of their refusal
  bool changed_ = false;                            // since the last search for room
  // Maximum of `for_receiving` since then, at the refusal of a stream.
  std::uint64_t received_then_ = 0;
};

// Runs for every packet.
inline void WriteRoom::count(Stream& stream) {
  std::uint64_t held = stream.send.memory_bytes() + stream.reserved;
  // A small chunk was counted when the stream was admitted.
  if (opened_by_peer(stream)) held -= std::min(held, SendBudget::k_small_chunk);
  const std::uint64_t stalled = view(stream).stalled();
  budget_.hold(held - stream.counted_held);
  budget_.stall(stalled - stream.counted_stalled);
  stream.counted_held = held;
  stream.counted_stalled = stalled;
  bound_window();
}

}  // namespace sheaf::quic
