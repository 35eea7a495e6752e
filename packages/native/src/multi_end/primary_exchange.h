#pragma once

#include <deque>

#include "multi_end/backends.h"
#include "multi_end/client_heard.h"
#include "multi_end/lease_messages.h"

namespace sheaf::quic {

// A primary's dealings with the backends of one connection: snapshots, and the messages that leases
// need. Sans-IO; whoever carries the messages knows nothing of them. The connection outlives it.
class PrimaryExchange {
 public:
  PrimaryExchange(Connection& connection, Time now)
      : connection_(connection), grantor_(shared_limits(connection)), since_(now) {}

  // Hand-overs are possible: the client's connection ids for all paths have come, or those for some
  // and the others take long.
  bool ready(Time now) const;

  // A snapshot with keys in it (multi_end/connection_snapshot.h). A backend is handed no second
  // path while it has one.
  Result<std::vector<std::uint8_t>, BackendRefusal> hand_over(BackendId backend,
                                                              const Address& address);
  void on_backend_left(const BackendLeftEvent& left, Time now);
  // False for a message that no backend of this connection writes; nothing has happened then.
  bool receive(BackendId backend, Bytes message, Time now);

  // To be asked after whatever happens to the connection, and at `next_timeout`.
  struct Outgoing {
    BackendId backend;
    std::vector<std::uint8_t> message;
  };
  std::optional<Outgoing> poll_message(Time now);
  Time next_timeout() const;

  const LeaseGrantor& grantor() const { return grantor_; }

 private:
  struct Partner {
    BackendId backend;
    PathId path;
    ClientHeardSchedule heard;
  };
  Partner* find(BackendId backend);
  void push(const Partner& partner, BackendMessage::Body body);

  Connection& connection_;
  LeaseGrantor grantor_;
  Time since_;
  std::vector<Partner> partners_;
  std::deque<Outgoing> outgoing_;
};

}  // namespace sheaf::quic
