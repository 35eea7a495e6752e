#pragma once

#include <vector>

#include "http3/datagram_router.h"
#include "http3/request_writer.h"
#include "http3/session_parts.h"

namespace sheaf::http3 {

// Handles the HTTP datagrams of a connection's requests (RFC 9297). All arguments of the
// constructor must outlive this object.
class RequestDatagrams {
 public:
  RequestDatagrams(SessionParts& parts, RequestWriter& writer) : parts_(parts), writer_(writer) {}

  // Returns the maximum payload that fits now, in bytes; 0 while the peer accepts none.
  std::size_t max_payload(StreamId request) const;
  // Returns false when the datagram is too large or the transport's queue is full. DatagramOutcome
  // returns `identifier`. The payload is `prefix` and `payload`.
  bool send(StreamId request, Bytes payload, std::uint64_t identifier, Bytes prefix = {});
  // Bounds what waits in the transport for all requests, in bytes (ApplicationDatagrams).
  void limit_waiting(std::size_t bytes) { parts_.transport.limit_waiting_datagrams(bytes); }
  // Returns what the connection lets leave now.
  quic::ApplicationDatagrams::Conditions conditions() const {
    return parts_.transport.datagram_conditions();
  }
  // Returns whether the peer has announced that it accepts none. DATAGRAM capsules are sent to it
  // instead (§3.5).
  bool peer_lacks_datagrams() const;
  // Makes `consumer` receive the datagrams of an open request. When a request without a consumer
  // has its response, a datagram costs it H3_DATAGRAM_ERROR (§2).
  void claim(StreamId request, DatagramConsumer& consumer);
  // As `claim`, for a request that the engine serves to its end. It takes less of the connection's
  // memory from now on (RequestAdmission).
  void serve(StreamId request, DatagramConsumer& consumer);
  // Ends the deliveries of a request. The session does so when the request ends.
  void release(StreamId request) { router_.release(request); }

  // Reads all datagrams that the transport has, for the session.
  void read();

 private:
  void route(HttpDatagram datagram);

  SessionParts& parts_;
  RequestWriter& writer_;
  DatagramRouter router_;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace sheaf::http3
