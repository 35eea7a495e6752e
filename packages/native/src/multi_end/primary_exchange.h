#pragma once

#include <deque>

#include "multi_end/backends.h"
#include "multi_end/client_heard.h"
#include "multi_end/lease_messages.h"

namespace sheaf::quic {

// Exchanges snapshots and messages of leases with the backends of one connection. It does no I/O,
// and whoever carries the messages need not understand them. The connection must outlive this
// object.
class PrimaryExchange {
 public:
  PrimaryExchange(Connection& connection, Time now)
      : connection_(connection), grantor_(shared_limits(connection)), since_(now) {}

  // Returns whether hand-overs are possible: the client's connection ids have come for all paths,
  // or for some if the others take long.
  bool ready(Time now) const;

  // Returns a snapshot with keys (multi_end/connection_snapshot.h). A backend gets no second path
  // while it has one.
  Result<std::vector<std::uint8_t>, BackendRefusal> hand_over(BackendId backend,
                                                              const Address& address);
  void on_backend_left(const BackendLeftEvent& left, Time now);
  // Returns false for a message that no backend of this connection writes, and then does nothing.
  bool receive(BackendId backend, Bytes message, Time now);

  // Call `poll_message` after every event of the connection, and at `next_timeout`.
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
  void push(const Partner& partner, const BackendMessage::Body& body);

  Connection& connection_;
  LeaseGrantor grantor_;
  Time since_;
  std::vector<Partner> partners_;
  std::deque<Outgoing> outgoing_;
};

}  // namespace sheaf::quic
