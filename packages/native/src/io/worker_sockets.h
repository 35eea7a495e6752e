#pragma once

#include <memory>
#include <vector>

#include "io/descriptor.h"
#include "io/generation_link.h"
#include "io/udp_socket.h"
#include "workers/worker_group.h"

namespace sheaf::io {

// The sockets of the workers of one process: at each address one for each worker. It keeps them
// open, so that the successor of a worker that ended gets the same ones, with what waits in them.
// (The kernel would give the index of a closed socket to another one.)
class WorkerSockets {
 public:
  ~WorkerSockets() { group_->set_predecessors(nullptr); }
  // Opens all sockets, or none. All addresses get the port of the first. An address that another
  // process uses is refused, also when that one would share it, unless `joins`: then the socket of
  // a single worker joins those of this user, which receive nothing (io/send_only_socket.h).
  static quic::Result<std::shared_ptr<WorkerSockets>, SocketError> open(
      std::vector<quic::Address> addresses, const quic::Steering& steering, bool steer,
      bool joins = false);

  // Takes over the sockets of another process, by address and then by worker, with its steering.
  static quic::Result<std::shared_ptr<WorkerSockets>, SocketError> adopt(
      std::vector<std::vector<Descriptor>> sockets, const quic::Steering& steering, bool steer);

  const std::shared_ptr<workers::WorkerGroup>& group() const { return group_; }
  const std::vector<quic::Address>& addresses() const { return addresses_; }
  // Returns a socket of a worker at the address of this index, which the caller owns.
  quic::Result<std::unique_ptr<UdpSocket>, SocketError> take(unsigned worker, std::size_t address,
                                                             const UdpSocketOptions& options) const;
  // Descriptors of all sockets, by address and then by worker, which stay here
  std::vector<std::vector<int>> descriptors() const;
  // Processes before this one
  Predecessors& predecessors() { return predecessors_; }
  // Closes the sockets that no worker has taken. No worker may start any more.
  void close() { sockets_.clear(); }

 private:
  explicit WorkerSockets(const quic::Steering& steering)
      : group_(std::make_shared<workers::WorkerGroup>(steering)) {
    group_->set_predecessors(&predecessors_);
  }
  void start_steering(bool steer);
  quic::Status<SocketError> open_at(quic::Address& address, bool joins);
  bool attach() const;

  std::shared_ptr<workers::WorkerGroup> group_;
  Predecessors predecessors_;
  std::vector<quic::Address> addresses_;
  std::vector<std::vector<Descriptor>> sockets_;  // by address, then by worker
};

}  // namespace sheaf::io
