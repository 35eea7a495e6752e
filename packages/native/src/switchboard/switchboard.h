#pragma once

#include <cstdint>
#include <unordered_map>

#include "util/time.h"

namespace sheaf::io {
class EndpointLoop;
}

namespace sheaf::switchboard {

class ExecutorHost;
class OrdersHost;

// Joins the endpoints of one thread: the sessions with other nodes, which belong to connections of
// the backbone, and the connections of clients whose responses other nodes send.
class Switchboard {
 public:
  // Names a session within the thread. 0 names none.
  using SessionNumber = std::uint32_t;

  SessionNumber add(OrdersHost& orders);
  SessionNumber add(ExecutorHost& executor);
  void remove(SessionNumber session);
  // These return null when the session has ended or is of the other kind.
  OrdersHost* orders(SessionNumber session) const;
  ExecutorHost* executor(SessionNumber session) const;

  // Sends what connections have said to backends.
  void flush(quic::Time now);
  // To be called when a loop has sent what its connections had to send.
  void on_flushed(const io::EndpointLoop& loop, quic::Time now);

 private:
  std::unordered_map<SessionNumber, OrdersHost*> orders_;
  std::unordered_map<SessionNumber, ExecutorHost*> executors_;
  SessionNumber next_ = 1;
};

}  // namespace sheaf::switchboard
