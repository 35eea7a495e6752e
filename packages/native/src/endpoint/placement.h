#pragma once

#include <optional>

#include "connection/transmit.h"
#include "crypto/datagram.h"
#include "steering/steering.h"
#include "wire/types.h"

namespace sheaf::quic {

// From where an endpoint has a datagram
enum class Origin : std::uint8_t {
  kNetwork,
  kWorker,  // another endpoint of the same address, which took it for one of this endpoint's
};

// The place of an endpoint among others that have the same address: which ids lead to it, and who
// gets the datagrams that belong to none of its connections.
class Placement {
 public:
  virtual ~Placement() = default;
  // What the ids that the endpoint makes have
  virtual std::optional<SteeringMark> mark() const = 0;
  // How an id came to belong to a connection here
  enum class Source : std::uint8_t {
    kServer,  // this endpoint made it, or another server that handed the connection over
    kClient,  // the client chose it, for its first packets alone
  };
  // An id of a connection here, in use from now on.
  virtual void add(const ConnectionId& id, Source source) = 0;
  virtual void remove(const ConnectionId& id) = 0;
  // Passes on a datagram of no connection here. Returns false when it belongs here all the same: it
  // opens a connection, or its connection is gone. A stateless reset is then right, which would end
  // the connection of another (RFC 9000 §10.3).
  virtual bool pass_on(const Datagram& datagram, const DatagramHeader& header, Origin origin) = 0;
};

}  // namespace sheaf::quic
