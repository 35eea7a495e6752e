#pragma once

#include <optional>

#include "http3/session.h"
#include "util/ring.h"
#include "webtransport/event.h"
#include "webtransport/session_table.h"

namespace sheaf::webtransport {

// The datagrams of a connection's WebTransport sessions. Everything that it is given outlives this
// object.
class SessionDatagrams final : public http3::DatagramConsumer {
 public:
  SessionDatagrams(http3::Session& http, SessionTable& sessions, quic::Ring<Event>& events,
                   http3::DatagramConsumer& consumer)
      : http_(http), sessions_(sessions), events_(events), consumer_(consumer) {}

  // --- for the application ----------------------------------------------------------------------
  std::size_t max_payload(StreamId session) const;
  // As a capsule where the peer takes no datagrams (RFC 9297 §3.5). False when it is too large or
  // the queue is full: it has expired before it was sent. DatagramsWritable tells when there is
  // room again. `waits`: the caller keeps one that finds no room, and it has not expired.
  bool send(StreamId session, Bytes payload, bool waits = false);
  // Nothing for a session that is gone.
  std::optional<DatagramCounts> counts(StreamId session) const;

  // --- for the set of sessions ------------------------------------------------------------------
  // Hands the datagram on if its session is established.
  void on_datagram(http3::HttpDatagram datagram) override;
  // Returns false if the outcome is not of a session's datagram.
  bool on_outcome(const http3::DatagramOutcome& outcome);
  void on_writable() { events_.push_back(DatagramsWritable{}); }
  // The session's CONNECT stream has room again for datagrams as capsules.
  void on_capsules_writable(Session& session);

 private:
  bool send_capsule(StreamId id, Session& session, Bytes payload);

  http3::Session& http_;
  SessionTable& sessions_;
  quic::Ring<Event>& events_;
  http3::DatagramConsumer& consumer_;
};

}  // namespace sheaf::webtransport
