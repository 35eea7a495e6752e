#pragma once

#include <memory>
#include <vector>

#include "io/connected_socket.h"
#include "io/deadline_timer.h"
#include "io/poll_group.h"
#include "tunnel/counts.h"
#include "tunnel/packet_queue.h"

namespace sheaf::tunnel_node {

using quic::Duration;
using quic::Time;

class TunnelEnd;

// What the tunnels of an endpoint share: the watch of their sockets, buffers, and the timer of
// their idle limits.
class TunnelNode {
 public:
  // Bytes that may wait in the queues of all tunnels together
  static constexpr std::size_t k_queue_bytes = 64 << 20;

  // The loop must outlive this object, and this object all of its tunnels.
  static quic::Result<std::unique_ptr<TunnelNode>, io::SocketError> open(uv_loop_t* loop);

  std::size_t open_tunnels() const { return ends_.size(); }
  // Of all tunnels so far
  tunnel::Counts counts() const;

 private:
  friend class TunnelEnd;

  TunnelNode() = default;
  quic::Status<io::SocketError> add(TunnelEnd& end);
  void remove(TunnelEnd& end);
  // Appends to what leaves together. It is of one tunnel at a time.
  void append(TunnelEnd& end, quic::Bytes payload);
  // Sends what `append` has gathered.
  void flush();
  // Ends idle tunnels.
  void sweep();
  void set_timer(Time now);

  std::unique_ptr<io::PollGroup> group_;
  std::unique_ptr<io::DeadlineTimer> timer_;
  io::ConnectedSocket::BuffersPointer buffers_ = io::ConnectedSocket::make_buffers();
  io::DatagramRuns gathered_;
  TunnelEnd* gathers_ = nullptr;  // whose packets are gathered
  tunnel::SharedRoom room_{k_queue_bytes};
  std::vector<TunnelEnd*> ends_;
  Time sweep_at_ = quic::k_never;
  tunnel::Counts past_;  // of tunnels that are gone
};

}  // namespace sheaf::tunnel_node
