#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "connection/delayed_batches.h"
#include "connection/run_order.h"
#include "recovery/sent_packets.h"
#include "util/ring.h"

namespace sheaf::quic {

// What a run may have when it is ordered. All but the number of packets is in bytes.
struct RunRoom {
  std::uint64_t available = 0;  // of the stream
  std::size_t most_payload = 0;
  std::size_t overhead = 0;  // around the payload of each packet
  std::uint64_t window = 0;  // of the congestion controller
  std::uint64_t free = 0;    // of the window
  std::uint64_t paced = 0;   // that the pacer lets go
  std::uint64_t burst = 0;   // that it lets go at most
  bool probe = false;        // a single packet, which needs neither window nor pacer
};

// The extent of a run.
struct RunExtent {
  std::size_t count = 0;  // packets; 0: the run waits
  std::size_t payload = 0;
  std::uint64_t await_paced = 0;  // bytes that the pacer must let go first; 0: an ACK comes first
  std::uint64_t bytes() const { return std::uint64_t{count} * payload; }
};

// The side of a connection that leaves packets to other nodes (direct_return/): what their owner
// permits, the orders that it has yet to take, and the own packets that wait for theirs.
class Runs {
 public:
  // Orders beyond this number wait until the owner has taken some.
  static constexpr std::size_t k_max_waiting = 256;

  void set_limits(const RunLimits& limits) {
    limits_ = limits;
    permitted_ = true;
  }
  // Runs are over for now: nothing waits any more.
  void end() {
    limits_ = {};
    permitted_ = false;
  }
  // Returns whether other nodes send for the connection now.
  bool permitted() const { return permitted_; }
  const RunLimits& limits() const { return limits_; }
  // Returns when the next data may be numbered, which a node sends; 0 is this node.
  Time earliest(std::uint8_t sender) const {
    const bool switches = last_sender_ != 0 && last_sender_ != sender;
    return switches ? last_ordered_ + limits_.before_switch : Time::min();
  }
  // All packets of a run have the same size, so the rest of a stream that fills no packet is a run
  // of its own.
  RunExtent extent(const RunRoom& room) const {
    const std::uint64_t full = room.available / room.most_payload;
    RunExtent extent;
    extent.payload = full > 0 ? room.most_payload : static_cast<std::size_t>(room.available);
    const std::size_t packet = room.overhead + extent.payload;
    const std::uint64_t longest = std::min(limits_.longest, k_max_run);
    extent.count = room.probe ? 1 : std::clamp<std::uint64_t>(full, 1, longest);
    if (room.probe) return extent;
    // Runs of a small window are shorter, so that enough packets stay in flight to make the client
    // acknowledge, and no run waits for more than the pacer ever saves.
    const std::uint64_t modest = std::max<std::uint64_t>(
        std::min(room.window / packet / 4, std::max<std::uint64_t>(room.burst / packet, 2) - 1), 1);
    const std::uint64_t shortest =
        std::min({std::uint64_t{extent.count}, std::uint64_t{limits_.shortest}, modest});
    const std::uint64_t permitted = std::min(room.free, room.paced) / packet;
    if (permitted >= shortest) {
      extent.count = std::min<std::uint64_t>(extent.count, permitted);
    } else {
      extent.count = 0;
      if (room.free / packet >= shortest) extent.await_paced = shortest * packet;
    }
    return extent;
  }

  // The runs of one stream that follow each other. The scheduler is told of them at the end.
  struct Turn {
    StreamId stream;
    std::size_t packets = 0;
    Time time{};  // of the latest
  };
  const Turn& turn() const { return turn_; }
  bool turn_is_over(Time now) const {
    return turn_.packets >= limits_.longest_turn ||
           (turn_.packets >= limits_.shortest_turn && now > turn_.time);
  }
  Turn end_turn() { return std::exchange(turn_, {}); }

  bool full() const { return orders_.size() >= k_max_waiting; }
  void push(const RunOrder& order) {
    if (turn_.packets == 0) turn_.stream = order.stream;
    turn_.packets += order.count;
    turn_.time = order.time;
    orders_.push_back(order);
    last_sender_ = order.sender;
    last_ordered_ = order.time;
    if (ordered_) ordered_();
  }
  // `ordered` is called with each order.
  void on_ordered(std::function<void()> ordered) { ordered_ = std::move(ordered); }
  std::optional<RunOrder> poll() {
    if (orders_.empty()) return std::nullopt;
    const RunOrder order = orders_.front();
    orders_.pop_front();
    return order;
  }

  // --- this node's own packets ------------------------------------------------------------------
  // Returns how long they wait after their numbering, so that they do not overtake runs.
  Duration own_wait() const { return limits_.waits[0]; }
  DelayedBatches& delayed() { return delayed_; }
  const DelayedBatches& delayed() const { return delayed_; }
  void on_own_data() { last_sender_ = 0; }

 private:
  RunLimits limits_;
  bool permitted_ = false;
  Ring<RunOrder> orders_;
  std::function<void()> ordered_;
  Turn turn_;
  std::uint8_t last_sender_ = 0;
  Time last_ordered_{};
  DelayedBatches delayed_;
};

}  // namespace sheaf::quic
