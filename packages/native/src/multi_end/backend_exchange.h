#pragma once

#include "multi_end/backends.h"
#include "multi_end/client_heard.h"
#include "multi_end/lease_messages.h"

namespace sheaf::quic {

// Exchanges messages with the primary about one connection of a backend. It does no I/O, as
// PrimaryExchange. The connection must outlive this object.
class BackendExchange {
 public:
  // Must be made after `establish_backend` with this seed.
  BackendExchange(Connection& connection, const BackendSeed& seed);

  // Returns false for a message that no primary writes, and then does nothing.
  bool receive(Bytes message, Time now);
  // Stops accepting requests. Once the last one is done, `give_up` follows.
  void drain() { drains_ = true; }
  bool drains() const { return drains_; }
  // Returns the rest of the credit, since nothing more will be sent here.
  void give_up();
  // Returns the next message. Call this after every event of the connection, and at `next_timeout`.
  std::optional<std::vector<std::uint8_t>> poll_message(Time now);
  Time next_timeout() const;

  BackendId backend() const { return backend_; }
  PathId path() const { return path_; }
  const LeaseHolder& leases() const { return leases_; }
  std::uint64_t credit_left() const { return leased_limits(connection_).credit(); }
  bool gave_up() const { return gave_up_; }

 private:
  Connection& connection_;
  BackendId backend_;
  PathId path_;
  LeaseHolder leases_;
  ClientHeardSchedule heard_;
  std::optional<LeaseReturn> given_up_;  // not sent yet
  bool drains_ = false;
  bool gave_up_ = false;
};

}  // namespace sheaf::quic
