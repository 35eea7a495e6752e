#pragma once

#include <memory>
#include <unordered_map>

#include "direct_return/delegated_streams.h"
#include "endpoint/connection_driver.h"
#include "io/deadline_timer.h"
#include "io/endpoint_loop.h"
#include "switchboard/switchboard.h"

namespace sheaf::switchboard {

// Direct server return on the connections of one endpoint that serves clients.
class Delegations {
 public:
  // All arguments must outlive this object.
  static quic::Result<std::unique_ptr<Delegations>, io::SocketError> open(
      uv_loop_t* loop, io::EndpointLoop& endpoint, Switchboard& switchboard);
  ~Delegations();
  Delegations(const Delegations&) = delete;
  Delegations& operator=(const Delegations&) = delete;

  // Makes them at the first call for a connection.
  quic::DelegatedStreams& of(quic::ConnectionDriver& driver);
  // Returns null for a connection without any.
  quic::DelegatedStreams* find(quic::ConnectionDriver& driver);
  // Takes all grants of a connection back, before it closes and before it is freed.
  void forget(quic::ConnectionDriver& driver);

  // To be called when the endpoint has sent what it may.
  void on_flushed(quic::Time now);
  // A backend said something: connections may have to send, or have lost their backend.
  void on_heard(quic::Time now);

 private:
  Delegations(io::EndpointLoop& endpoint, Switchboard& switchboard);

  void on_timer();

  io::EndpointLoop& endpoint_;
  Switchboard& switchboard_;
  std::unordered_map<quic::ConnectionDriver*, std::unique_ptr<quic::DelegatedStreams>> streams_;
  std::unique_ptr<io::DeadlineTimer> timer_;
};

}  // namespace sheaf::switchboard
