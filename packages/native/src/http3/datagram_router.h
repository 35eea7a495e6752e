#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "http3/transport.h"

namespace sheaf::http3 {

// An HTTP datagram (RFC 9297 §2.1).
struct HttpDatagram {
  StreamId stream;  // the request that it belongs to
  std::vector<std::uint8_t> storage;
  std::size_t payload_offset = 0;
  Bytes payload() const { return Bytes(storage).subspan(payload_offset); }
};

// Who knows what the datagrams of a request mean.
class DatagramConsumer {
 public:
  virtual ~DatagramConsumer() = default;
  // Must not call the session back.
  virtual void on_datagram(HttpDatagram datagram) = 0;
};

// Finds the consumer of each datagram by its request. What overtakes its request, or comes before
// that has an answer, waits, up to a number and a size (RFC 9297 §2.1).
class DatagramRouter {
 public:
  static constexpr std::size_t k_max_waiting = 16;
  static constexpr std::size_t k_max_waiting_bytes = 32 << 10;

  // From now on the request's datagrams are the consumer's, those that waited first. It outlives the
  // request, or `release` is called before.
  void claim(StreamId request, DatagramConsumer& consumer);
  // Nobody takes the request's datagrams any more; those that wait are dropped.
  void release(StreamId request);

  // False: nobody has claimed the request. The datagram is left alone then.
  bool deliver(HttpDatagram& datagram);
  // Drops it when too much waits already.
  void hold(HttpDatagram datagram);
  std::size_t waiting() const { return waiting_.size(); }

 private:
  std::unordered_map<StreamId, DatagramConsumer*> consumers_;
  std::deque<HttpDatagram> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace sheaf::http3
