#pragma once

#include <deque>

#include "ends/client_heard.h"
#include "ends/lease_messages.h"

namespace sheaf::quic {

// A primary's dealings with the ends of one connection: snapshots, and the messages that leases
// need. Sans-IO; whoever carries the messages knows nothing of them. The connection outlives it.
class PrimaryExchange {
 public:
  PrimaryExchange(Connection& connection, Time now)
      : connection_(connection), grantor_(connection.shared_limits()), since_(now) {}

  // Hand-overs are possible: the client's connection ids for all paths have come, or those for some
  // and the others take long.
  bool ready(Time now) const;

  // A snapshot with keys in it (ends/connection_snapshot.h). An end is handed no second path while
  // it has one.
  Result<std::vector<std::uint8_t>, EndRefusal> hand_over(EndId end, const Address& address);
  void on_end_left(const EndLeftEvent& left, Time now);
  // False for a message that no end of this connection writes; nothing has happened then.
  bool receive(EndId end, Bytes message, Time now);

  // To be asked after whatever happens to the connection, and at `next_timeout`.
  struct Outgoing {
    EndId end;
    std::vector<std::uint8_t> message;
  };
  std::optional<Outgoing> poll_message(Time now);
  Time next_timeout() const;

  const LeaseGrantor& grantor() const { return grantor_; }

 private:
  struct Partner {
    EndId end;
    PathId path;
    ClientHeardSchedule heard;
  };
  Partner* find(EndId end);
  void push(const Partner& partner, EndMessage::Body body);

  Connection& connection_;
  LeaseGrantor grantor_;
  Time since_;
  std::vector<Partner> partners_;
  std::deque<Outgoing> outgoing_;
};

}  // namespace sheaf::quic
