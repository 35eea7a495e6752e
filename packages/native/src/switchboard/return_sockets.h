#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "io/send_only_socket.h"

namespace sheaf::switchboard {

// The sockets of a backend that send from addresses of gateways
class ReturnSockets {
 public:
  void add(std::shared_ptr<io::SendOnlySocket> socket) { sockets_.push_back(std::move(socket)); }
  std::vector<quic::Address> addresses() const {
    std::vector<quic::Address> all;
    for (const auto& socket : sockets_) all.push_back(socket->from());
    return all;
  }
  // Sends a batch from its local address. It is lost when no socket has that address, or its socket
  // is blocked.
  void send(const quic::TransmitBatch& batch) {
    if (io::SendOnlySocket* socket = find(batch.path.local)) socket->send(batch);
  }

 private:
  io::SendOnlySocket* find(const quic::Address& from) const {
    const auto found =
        std::ranges::find_if(sockets_, [&](const auto& socket) { return socket->from() == from; });
    return found == sockets_.end() ? nullptr : found->get();
  }

  std::vector<std::shared_ptr<io::SendOnlySocket>> sockets_;
};

}  // namespace sheaf::switchboard
