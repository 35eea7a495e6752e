#pragma once

#include "connection/transmit.h"
#include "util/time.h"

namespace sheaf::quic {

// A host that sends and receives datagrams in a simulation, with the same functions as Endpoint
class Host {
 public:
  virtual ~Host() = default;
  virtual void receive(const Datagram& datagram, Time now) = 0;
  // Called until it leaves `batch.size` at 0.
  virtual void poll_transmit(TransmitBatch& batch, Time now) = 0;
  virtual Time next_timeout() const = 0;
  virtual void on_timeout(Time now) = 0;
};

}  // namespace sheaf::quic
