#pragma once

#include <deque>

#include "ends/client_heard.h"
#include "ends/lease_messages.h"

namespace sheaf::quic {

// A primary's dealings with the ends of one connection: snapshots, and the messages that leases
// need. Sans-IO; whoever carries the messages knows nothing of them. The connection outlives it.
class PrimaryExchange {
 public:
  explicit PrimaryExchange(Connection& connection)
      : connection_(connection), grantor_(connection.shared_limits()) {}

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
  std::vector<Partner> partners_;
  std::deque<Outgoing> outgoing_;
};

}  // namespace sheaf::quic
