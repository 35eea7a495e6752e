#pragma once

#include <uv.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "io/descriptor.h"
#include "io/socket_calls.h"
#include "util/result.h"
#include "workers/elsewhere.h"
#include "workers/worker_group.h"

namespace sheaf::io {

// When a new process takes over the sockets of an old one, the old one keeps its connections. The
// new one sends it their datagrams over a pair of Unix sockets, in messages of which each is one
// datagram (docs/internals/workers.md).

// Makes a link: one end for each process.
quic::Result<std::array<Descriptor, 2>, SocketError> make_generation_link();

// Tells a successor over a link which ids may be those of handshakes that are not over. Their
// packets look as if they opened connections.
void send_recent_ids(const Descriptor& link, const std::vector<quic::ConnectionId>& ids);

// The links of a process to those before it that still have connections. Nobody knows which of them
// has the connection of a datagram, so that each gets it, and one of them takes it.
class Predecessors final : public workers::Elsewhere {
 public:
  // Adds the newest of all.
  void add(Descriptor link);
  // Returns the descriptors of all links, which stay here.
  std::vector<int> links() const;
  void clear();

  // Passes on all but what opens a connection here. Returns false when no predecessor is left.
  quic::Owner pass_on(const quic::Datagram& datagram, const quic::DatagramHeader& header) override;

 private:
  struct Link {
    Descriptor descriptor;
    std::unordered_set<quic::ConnectionId> in_handshakes;
  };
  void read_ids(Link& link);

  mutable std::mutex mutex_;
  std::vector<Link> links_;
};

// Takes what a successor sends over a link, and gives it to the workers of this process.
class SuccessorInlet {
 public:
  static quic::Result<std::unique_ptr<SuccessorInlet>, SocketError> open(
      uv_loop_t* loop, Descriptor link, std::shared_ptr<workers::WorkerGroup> group);
  ~SuccessorInlet() { close({}); }
  SuccessorInlet(const SuccessorInlet&) = delete;
  SuccessorInlet& operator=(const SuccessorInlet&) = delete;

  // Stops at once. libuv frees the handle later and then calls `done`. Does not keep the loop
  // alive.
  void close(std::function<void()> done);

 private:
  struct Handle;

  SuccessorInlet() = default;
  Handle* handle_ = nullptr;
};

}  // namespace sheaf::io
