#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/connected_socket.h"
#include "io/deadline_timer.h"
#include "io/descriptor_limit.h"
#include "io/poll_group.h"
#include "tunnel/counts.h"
#include "tunnel/first_response.h"
#include "tunnel/packet.h"
#include "tunnel/packet_queue.h"
#include "tunnel/rate_budget.h"

namespace sheaf::tunnel_node {

using quic::Duration;
using quic::Time;

class TargetSide;

// What the tunnels of an endpoint share: the watch of their sockets, buffers, and the timer of
// their idle limits.
class TunnelNode {
 public:
  // Bytes that may wait in the queues of all tunnels together
  static constexpr std::size_t k_queue_bytes = 64 << 20;

  // The loop must outlive this object, and this object all of its tunnels. At most so many of them
  // are open at a time: each has a descriptor, which nobody else has then.
  static quic::Result<std::unique_ptr<TunnelNode>, io::SocketError> open(
      uv_loop_t* loop, std::size_t max_tunnels = io::quarter_of_descriptors());

  std::size_t open_tunnels() const { return open_; }
  // What the queues of all tunnels share
  tunnel::SharedRoom& room() { return room_; }
  // Of all tunnels so far
  tunnel::Counts counts() const;
  const tunnel::FirstResponses& first_responses() const { return first_responses_; }

 private:
  friend class TargetSide;
  friend class LocalPort;
  friend class RelayPort;

  explicit TunnelNode(std::size_t max_tunnels) : max_tunnels_(max_tunnels) {}
  quic::Status<io::SocketError> add(TargetSide& side);
  void remove(TargetSide& side);
  quic::Status<io::SocketError> watch(int descriptor, io::PollGroup::Member& member) {
    return group_->add(descriptor, member);
  }
  void stop_watching(int descriptor, io::PollGroup::Member& member) {
    group_->remove(descriptor, member);
  }
  // The tunnel hears no more from its target.
  void stop_listening(TargetSide& side);
  // Returns the budget that tunnels with this name share; null for the empty name.
  std::shared_ptr<tunnel::RateBudget> budget_of(const std::string& name, double rate);
  // Appends to what leaves together. It is of one tunnel at a time.
  void append(TargetSide& side, const tunnel::Packet& packet);
  // Sends what `append` has gathered.
  void flush();
  // Ends idle tunnels.
  void sweep();
  // Makes the next sweep as early as this tunnel needs it.
  void sweep_by(Time now, const TargetSide& side);

  std::unique_ptr<io::PollGroup> group_;
  std::unique_ptr<io::DeadlineTimer> timer_;
  io::ConnectedSocket::BuffersPointer buffers_ = io::ConnectedSocket::make_buffers();
  io::DatagramRuns gathered_;
  TargetSide* gathers_ = nullptr;  // whose packets are gathered
  tunnel::SharedRoom room_{k_queue_bytes};
  std::size_t max_tunnels_;
  std::size_t open_ = 0;
  std::vector<TargetSide*> sides_;  // also those that are over and wait for the end of their stream
  // Those of users whose tunnels are gone stay until they are full again.
  std::unordered_map<std::string, std::shared_ptr<tunnel::RateBudget>> budgets_;
  Time sweep_at_ = quic::k_never;
  tunnel::FirstResponses first_responses_;
  tunnel::Counts past_;  // of tunnels that are gone, and of packets that had none
};

}  // namespace sheaf::tunnel_node
