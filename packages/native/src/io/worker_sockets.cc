#include "io/worker_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

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
    std::vector<Address> addresses, const quic::Steering& steering, bool steer) {
  std::shared_ptr<WorkerSockets> made(new WorkerSockets(steering));
  for (Address& address : addresses) {
    if (!made->addresses_.empty()) address.port = made->addresses_.front().port;
    const auto status = made->open_at(address);
    if (!status) return status.error();
    made->addresses_.push_back(address);
  }
  // There is no group of sockets with one worker, and nothing to choose.
  made->group_->set_steered(steering.workers() == 1 || (steer && made->attach()));
  return made;
}

bool WorkerSockets::attach() const {
  return std::ranges::all_of(sockets_, [this](const auto& sockets) {
    return attach_steering(sockets.front().number(), group_->steering());
  });
}

// The first socket is bound alone: that fails where another process has the address, and joins no
// group of its sockets. The others share the address with it from then on.
quic::Status<SocketError> WorkerSockets::open_at(Address& address) {
  std::vector<Descriptor>& sockets = sockets_.emplace_back();
  while (sockets.size() < group_->steering().workers()) {
    const auto opened = UdpSocket::open(address, {.reuse_port = !sockets.empty()});
    if (!opened) return opened.error();
    const UdpSocket& socket = **opened;
    if (sockets.empty()) socket.share_address();
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
