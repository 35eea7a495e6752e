#pragma once

#include "multi_end/backends.h"
#include "multi_end/client_heard.h"
#include "multi_end/lease_messages.h"

namespace sheaf::quic {

// A backend's dealings with its primary about one connection. Sans-IO, as PrimaryExchange. The
// connection outlives it.
class BackendExchange {
 public:
  // After `Connection::establish_backend` with this seed.
  BackendExchange(Connection& connection, const BackendSeed& seed);

  // False for a message that no primary writes; nothing has happened then.
  bool receive(Bytes message, Time now);
  // No new requests are taken; once the last one is done comes `give_up`.
  void drain() { drains_ = true; }
  bool drains() const { return drains_; }
  // Nothing more will be sent here: what is left of the credit goes back.
  void give_up();
  // To be asked after whatever happens to the connection, and at `next_timeout`.
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
  std::optional<LeaseReturn> given_up_;  // to be told
  bool drains_ = false;
  bool gave_up_ = false;
};

}  // namespace sheaf::quic
