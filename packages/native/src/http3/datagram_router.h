#pragma once

#include <unordered_map>

#include "http3/transport.h"
#include "util/datagram_ring.h"

namespace sheaf::http3 {

// Refers to an HTTP datagram (RFC 9297 §2.1), whose bytes the caller owns.
struct HttpDatagram {
  StreamId stream;  // the request that the datagram belongs to
  Bytes payload;
  // Of the QUIC packet that brought it; Not-ECT for one that came in a capsule
  quic::Ecn outer_ecn = quic::Ecn::kNotEct;
};

// Receives the datagrams of a request. An implementation either handles them natively or collects
// them for JavaScript.
class DatagramConsumer {
 public:
  virtual ~DatagramConsumer() = default;
  // Receives a datagram, whose payload is valid only during the call. The implementation must not
  // call the session from here.
  virtual void on_datagram(HttpDatagram datagram) = 0;
};

// Passes each datagram to the consumer of its request. A datagram waits, within a bound on number
// and size, while its request has not arrived or has no response yet (RFC 9297 §2.1).
class DatagramRouter {
 public:
  static constexpr std::size_t k_max_waiting = 16;
  static constexpr std::size_t k_max_waiting_bytes = 32 << 10;

  // Makes `consumer` receive the datagrams of a request, beginning with those that waited. The
  // consumer must outlive the request, or be released before.
  void claim(StreamId request, DatagramConsumer& consumer);
  // Ends the deliveries of a request, and drops the datagrams that wait for it.
  void release(StreamId request);

  // Returns false when the request has no consumer.
  bool deliver(HttpDatagram datagram);
  // Copies a datagram so that it waits for its request. Drops it when too much waits already.
  void hold(HttpDatagram datagram);
  std::size_t waiting() const { return waiting_.size(); }

 private:
  std::unordered_map<StreamId, DatagramConsumer*> consumers_;
  static constexpr std::size_t k_ring_size =
      k_max_waiting_bytes + k_max_waiting * quic::DatagramRing::k_overhead;
  // Calls `keep` for each datagram that waits, and drops those for which it returns false.
  template <typename Keep>
  void sift(Keep&& keep);

  quic::DatagramRing waiting_{k_ring_size};  // tagged with stream id and ECN mark
  std::size_t waiting_bytes_ = 0;            // payloads alone, in bytes
};

}  // namespace sheaf::http3
