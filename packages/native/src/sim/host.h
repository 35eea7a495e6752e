#pragma once

#include "connection/transmit.h"
#include "util/time.h"

namespace sheaf::quic {

// Anything that sends and receives datagrams in a simulation; the same verbs as Endpoint.
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
