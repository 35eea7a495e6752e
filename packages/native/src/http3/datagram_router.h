#pragma once

#include <unordered_map>

#include "http3/transport.h"
#include "util/datagram_ring.h"

namespace sheaf::http3 {

// An HTTP datagram (RFC 9297 §2.1), in the memory of whoever passes it on.
struct HttpDatagram {
  StreamId stream;  // the request that it belongs to
  Bytes payload;
};

// Receives the datagrams of a request, which it understands: passes them on natively, or gathers
// them for JavaScript.
class DatagramConsumer {
 public:
  virtual ~DatagramConsumer() = default;
  // The payload is valid during the call, which must not call the session back.
  virtual void on_datagram(HttpDatagram datagram) = 0;
};

// Finds the consumer of each datagram by its request. What overtakes its request, or comes before
// that has a response, waits, up to a number and a size (RFC 9297 §2.1).
class DatagramRouter {
 public:
  static constexpr std::size_t k_max_waiting = 16;
  static constexpr std::size_t k_max_waiting_bytes = 32 << 10;

  // From now on the request's datagrams are the consumer's, those that waited first. It outlives
  // the request, or `release` is called before.
  void claim(StreamId request, DatagramConsumer& consumer);
  // Nobody takes the request's datagrams any more; those that wait are dropped.
  void release(StreamId request);

  // False: nobody has claimed the request.
  bool deliver(HttpDatagram datagram);
  // Copies it; drops it when too much waits already.
  void hold(HttpDatagram datagram);
  std::size_t waiting() const { return waiting_.size(); }

 private:
  std::unordered_map<StreamId, DatagramConsumer*> consumers_;
  static constexpr std::size_t k_ring_size =
      k_max_waiting_bytes + k_max_waiting * quic::DatagramRing::k_overhead;
  // Empties the ring, and calls `keep(datagram)` for each: those with true wait on.
  template <typename Keep>
  void sift(Keep&& keep);

  quic::DatagramRing waiting_{k_ring_size};  // tagged with their requests
  std::size_t waiting_bytes_ = 0;            // of payloads
};

}  // namespace sheaf::http3
