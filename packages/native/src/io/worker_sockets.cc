#include "io/worker_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "io/bound_socket.h"
#include "io/steering_program.h"

namespace sheaf::io {

using quic::Address;

namespace {

quic::Result<Descriptor, SocketError> duplicate(int descriptor, const Address& local) {
  Descriptor made(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!made.open()) return socket_error(errno, "dup", local);
  return made;
}

}  // namespace

quic::Result<std::shared_ptr<WorkerSockets>, SocketError> WorkerSockets::open(
    std::vector<Address> addresses, const quic::Steering& steering, bool steer, bool joins) {
  std::shared_ptr<WorkerSockets> made(new WorkerSockets(steering));
  for (Address& address : addresses) {
    if (!made->addresses_.empty()) address.port = made->addresses_.front().port;
    const auto status = made->open_at(address, joins);
    if (!status) return status.error();
    made->addresses_.push_back(address);
  }
  made->start_steering(steer);
  return made;
}

quic::Result<std::shared_ptr<WorkerSockets>, SocketError> WorkerSockets::adopt(
    std::vector<std::vector<Descriptor>> sockets, const quic::Steering& steering, bool steer) {
  std::shared_ptr<WorkerSockets> made(new WorkerSockets(steering));
  for (const std::vector<Descriptor>& at_address : sockets) {
    if (at_address.size() != steering.workers())
      return SocketError{EINVAL, "there is not one socket for each worker"};
    const auto bound = bound_socket(at_address.front().number(), BoundKind::kUdp);
    if (!bound) return SocketError{ENOTSOCK, "a descriptor is no bound socket"};
    made->addresses_.push_back(bound->address);
  }
  made->sockets_ = std::move(sockets);
  made->start_steering(steer);
  return made;
}

// There is no group of sockets with one worker, and nothing to choose.
void WorkerSockets::start_steering(bool steer) {
  group_->set_steered(group_->steering().workers() == 1 || (steer && attach()));
}

std::vector<std::vector<int>> WorkerSockets::descriptors() const {
  std::vector<std::vector<int>> numbers;
  for (const std::vector<Descriptor>& at_address : sockets_) {
    std::vector<int>& each = numbers.emplace_back();
    for (const Descriptor& socket : at_address) each.push_back(socket.number());
  }
  return numbers;
}

bool WorkerSockets::attach() const {
  return std::ranges::all_of(sockets_, [this](const auto& sockets) {
    return attach_steering(sockets.front().number(), group_->steering());
  });
}

// The first socket is bound alone, unless it joins others: that fails where another process has the
// address, and joins no group of its sockets. The others share the address with it from then on.
quic::Status<SocketError> WorkerSockets::open_at(Address& address, bool joins) {
  std::vector<Descriptor>& sockets = sockets_.emplace_back();
  while (sockets.size() < group_->steering().workers()) {
    const auto opened = UdpSocket::open(address, {.reuse_port = joins || !sockets.empty()});
    if (!opened) return opened.error();
    const UdpSocket& socket = **opened;
    if (sockets.empty() && !joins) socket.share_address();
    address = socket.local_address();
    auto kept = duplicate(socket.descriptor(), address);
    if (!kept) return kept.error();
    sockets.push_back(std::move(*kept));
  }
  return {};
}

quic::Result<std::unique_ptr<UdpSocket>, SocketError> WorkerSockets::take(
    unsigned worker, std::size_t address, const UdpSocketOptions& options) const {
  const Address& local = addresses_[address];
  auto own = duplicate(sockets_[address][worker].number(), local);
  if (!own) return own.error();
  return UdpSocket::adopt(own->release(), local, options);
}

}  // namespace sheaf::io
