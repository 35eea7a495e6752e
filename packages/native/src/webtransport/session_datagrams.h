#pragma once

#include <optional>

#include "http3/session.h"
#include "util/ring.h"
#include "webtransport/event.h"
#include "webtransport/session_table.h"

namespace sheaf::webtransport {

// Handles the datagrams of a connection's WebTransport sessions. All arguments of the constructor
// must outlive this object.
class SessionDatagrams final : public http3::DatagramConsumer {
 public:
  SessionDatagrams(http3::Session& http, SessionTable& sessions, quic::Ring<Event>& events,
                   http3::DatagramConsumer& consumer)
      : http_(http), sessions_(sessions), events_(events), consumer_(consumer) {}

  // --- for the application ----------------------------------------------------------------------
  std::size_t max_payload(StreamId session) const;
  // Sends a datagram, as a capsule when the peer does not accept datagrams (RFC 9297 §3.5). Returns
  // false when it is too large or the queue is full. A refused datagram counts as expired, unless
  // `waits` says that the caller keeps it. DatagramsWritable tells when there is room again.
  bool send(StreamId session, Bytes payload, bool waits = false);
  // Returns nothing for a session that is gone.
  std::optional<DatagramCounts> counts(StreamId session) const;

  // --- for the set of sessions ------------------------------------------------------------------
  // Passes a datagram on when its session is established.
  void on_datagram(http3::HttpDatagram datagram) override;
  // Returns false when the datagram did not belong to a session.
  bool on_outcome(const http3::DatagramOutcome& outcome);
  void on_writable() { events_.push_back(DatagramsWritable{}); }
  // Reports that the session's CONNECT stream has room for datagrams in capsules again.
  void on_capsules_writable(Session& session);

 private:
  bool send_capsule(StreamId id, Session& session, Bytes payload);

  http3::Session& http_;
  SessionTable& sessions_;
  quic::Ring<Event>& events_;
  http3::DatagramConsumer& consumer_;
};

}  // namespace sheaf::webtransport
