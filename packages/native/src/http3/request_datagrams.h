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

  // --- as in Session ----------------------------------------------------------------------------
  std::size_t max_payload(StreamId request) const;
  bool send(StreamId request, Bytes payload, std::uint64_t identifier);
  bool peer_lacks_datagrams() const;
  void claim(StreamId request, DatagramConsumer& consumer);

  // Reads all datagrams that the transport has.
  void read();
  // Must be called when the request has ended.
  void release(StreamId request) { router_.release(request); }

 private:
  void route(HttpDatagram datagram);

  SessionParts& parts_;
  RequestWriter& writer_;
  DatagramRouter router_;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace sheaf::http3
