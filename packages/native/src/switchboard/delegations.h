#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "direct_return/delegated_streams.h"
#include "endpoint/connection_driver.h"
#include "endpoint/timer_queue.h"
#include "io/deadline_timer.h"
#include "io/endpoint_loop.h"
#include "switchboard/switchboard.h"

namespace sheaf::switchboard {

// Direct server return on the connections of one endpoint that serves clients. A turn looks at
// those that had something to do in it, and at no others.
class Delegations {
 public:
  // A connection is forgotten when it has had nothing of the kind for so long.
  static constexpr quic::Duration k_keep_idle = std::chrono::seconds(1);

  // All arguments must outlive this object.
  static quic::Result<std::unique_ptr<Delegations>, io::SocketError> open(
      uv_loop_t* loop, io::EndpointLoop& endpoint, Switchboard& switchboard);
  Delegations(const Delegations&) = delete;
  Delegations& operator=(const Delegations&) = delete;

  // Makes them for a connection that has none.
  quic::DelegatedStreams& of(quic::ConnectionDriver& driver);
  // Returns null for a connection without any.
  quic::DelegatedStreams* find(quic::ConnectionDriver& driver);
  // Takes all grants of a connection back, before it closes and before it is freed.
  void forget(quic::ConnectionDriver& driver);
  // Returns the number of connections that have any.
  std::size_t size() const { return entries_.size(); }

  // To be called for each connection that has a turn of the endpoint, before `on_flushed`.
  void on_active(quic::ConnectionDriver& driver);
  // To be called when the endpoint has sent what it may.
  void on_flushed(quic::Time now);

 private:
  struct Entry {
    Entry(io::EndpointLoop& endpoint, quic::ConnectionDriver& of, Delegations& owner);
    ~Entry();
    Entry(const Entry&) = delete;

    quic::ConnectionDriver& driver;
    quic::DelegatedStreams streams;
    quic::TimerQueue<Entry>::Entry timer;
    bool listed = false;  // for the end of the turn
    bool woken = false;   // since the last one
  };

  Delegations(io::EndpointLoop& endpoint, Switchboard& switchboard);

  Entry* entry_of(quic::ConnectionDriver& driver);
  void list(Entry& entry);
  void set_deadline(Entry& entry, quic::Time now);
  void on_due(Entry& entry, quic::Time now);
  void on_timer();

  io::EndpointLoop& endpoint_;
  Switchboard& switchboard_;
  quic::TimerQueue<Entry> deadlines_;
  std::vector<Entry*> listed_;
  std::unordered_map<quic::ConnectionDriver*, std::unique_ptr<Entry>> entries_;
  std::unique_ptr<io::DeadlineTimer> timer_;
};

}  // namespace sheaf::switchboard
