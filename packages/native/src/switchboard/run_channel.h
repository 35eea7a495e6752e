#pragma once

#include "http3/datagram_inbox.h"
#include "http3/session.h"
#include "io/endpoint_loop.h"

namespace sheaf::switchboard {

// Carries datagrams between two nodes of a site: those of one long request on a connection of the
// backbone. None passes through JavaScript. Datagrams may be lost, and come in any order.
class RunChannel final {
 public:
  // The request on this connection of the loop. It is open, and its peer sends the first datagram
  // only after this side has made its channel (RFC 9297 §2). All must outlive this object.
  struct Request {
    io::EndpointLoop& loop;
    quic::ConnectionDriver& driver;
    http3::Session& session;
    http3::StreamId stream;
  };
  explicit RunChannel(const Request& request);
  ~RunChannel();
  RunChannel(const RunChannel&) = delete;
  RunChannel& operator=(const RunChannel&) = delete;

  // Bytes that fit into a datagram now; 0 before the peer has told that it takes any.
  std::size_t max_payload() const {
    return request_.session.datagrams().max_payload(request_.stream);
  }
  // Queues a datagram, which leaves with `flush`. Returns false, and drops it, when it is larger
  // than `max_payload` or too many wait.
  bool send(quic::Bytes payload);
  // Sends what was queued, before the loop serves anything else. The connection's events must have
  // been drained.
  void flush();
  // Lets the loop take a turn before it sleeps, in which it sends what waits.
  void ask_for_turn() { request_.loop.wake(request_.driver); }
  bool uses(const io::EndpointLoop& loop) const { return &request_.loop == &loop; }
  // Sends all that a node's end of a session, a RunOrders or an Executor, has to say.
  template <typename End>
  void send_all(End& end, quic::Time now) {
    for (auto message = end.poll_message(now); !message.empty(); message = end.poll_message(now)) {
      send(message);
    }
    flush();
  }

  bool has_received() const { return !inbox_.empty(); }
  // Calls `take(payload)` for each datagram that has come. `take` may call `send`, but must not
  // destroy the channel. To be called after the session has seen the events of its connection.
  template <typename Take>
  void drain(Take&& take) {
    inbox_.drain(take);
  }

  // Datagrams that `send` has dropped so far
  std::uint64_t dropped() const { return dropped_; }

 private:
  Request request_;
  http3::DatagramInbox inbox_;
  bool queued_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace sheaf::switchboard
