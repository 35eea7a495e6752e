#pragma once

#include <deque>

#include "tunnel/inner_packet_queue.h"

namespace sheaf::quic {

// Holds the packets of the flows of one tunnel, each in a queue of its own. Flows with waiting
// packets take turns, each with as many bytes as the others (deficit round robin, Shreedhar and
// Varghese, SIGCOMM 1995). An unfair one has one queue for all flows.
class FlowQueues {
 public:
  FlowQueues(const InnerPacketQueueConfig& config, bool fair) : config_(config), fair_(fair) {}

  // Returns the queue that a flow's packets wait in.
  InnerPacketQueue& of(std::size_t flow);
  // As those of InnerPacketQueue, over all queues
  std::optional<Bytes> front(Time now);
  void pop();
  bool empty() const;
  std::size_t bytes() const;
  InnerPacketCounts counts() const;

 private:
  struct Queue {
    InnerPacketQueue packets;
    std::size_t deficit = 0;  // bytes that it may send in its turn
  };
  void end_turn();

  InnerPacketQueueConfig config_;
  bool fair_;
  std::deque<Queue> queues_;
  std::size_t turn_ = 0;
  bool granted_ = false;  // the queue whose turn it is got its bytes
  std::size_t front_size_ = 0;
};

}  // namespace sheaf::quic
