#pragma once

#include <memory>

#include "multi_end/credit_leases.h"
#include "sim/connection_pair.h"

namespace sheaf::quic {

// A server that knows of a connection only what a snapshot told it (docs/internals/multi-end.md)
class BackendHost final : public Host {
 public:
  explicit BackendHost(Random& random) : random_(random) {}

  // Takes part from now on. `own` is the configuration of a server here.
  TransportStatus import(Bytes snapshot, const ConnectionConfig& own, Time now);
  // Forgets the connection silently: datagrams that arrive later are dropped.
  void forget();

  void receive(const Datagram& datagram, Time now) override;
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override;
  void on_timeout(Time now) override;

  // Null while it does not take part
  Connection* connection() { return host_ ? &host_->connection : nullptr; }
  LeaseHolder* leases() { return leases_.get(); }
  std::uint64_t datagrams() const { return datagrams_; }
  // Number of datagrams that begin with a long header, which only handshakes have (RFC 9000 §17.2)
  std::uint64_t handshake_datagrams() const { return handshake_datagrams_; }

  // Callbacks as in ConnectionHost; set them before `import`.
  std::function<void(const Event&, Time)> on_event;
  std::function<void(Time)> on_activity;

 private:
  Random& random_;
  std::unique_ptr<ConnectionHost> host_;
  std::unique_ptr<LeaseHolder> leases_;
  std::uint64_t datagrams_ = 0;
  std::uint64_t handshake_datagrams_ = 0;
};

}  // namespace sheaf::quic
