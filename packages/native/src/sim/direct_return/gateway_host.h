#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include "direct_return/delegated_streams.h"
#include "sim/connection_pair.h"

namespace sheaf::quic {

// The server of a connection that orders backends to send. It has a session with each of them.
class GatewayHost final : public Host {
 public:
  // `server` outlives this host.
  explicit GatewayHost(ConnectionHost& server)
      : server_(server), delegated(server.connection.extension(), 1) {}

  void receive(const Datagram& datagram, Time now) override {
    if (!dead) server_.receive(datagram, now);
  }
  void poll_transmit(TransmitBatch& batch, Time now) override {
    if (dead) return;
    server_.poll_transmit(batch, now);
    if (batch.size > 0) return;
    delegated.flush(now);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      for (auto message = orders[i].poll_message(now); !message.empty();
           message = orders[i].poll_message(now)) {
        on_message(i, std::move(message));
      }
    }
    while (const auto orphan = delegated.poll_orphan()) on_orphan(*orphan, now);
  }
  Time next_timeout() const override {
    if (dead) return k_never;
    Time next = std::min(server_.next_timeout(), delegated.next_timeout());
    for (const RunOrders& session : orders) next = std::min(next, session.next_timeout());
    return next;
  }
  void on_timeout(Time now) override {
    server_.on_timeout(now);
    delegated.on_timeout(now);
  }

 private:
  ConnectionHost& server_;

 public:
  std::deque<RunOrders> orders;  // one for each backend
  DelegatedStreams delegated;
  bool dead = false;  // it does nothing any more
  // Takes what the gateway says to a backend, and hears about streams that lost theirs.
  std::function<void(std::size_t backend, std::vector<std::uint8_t>)> on_message;
  std::function<void(const DelegatedStreams::Orphan&, Time)> on_orphan;
};

}  // namespace sheaf::quic
