#pragma once

#include <algorithm>
#include <cstddef>

#include "util/datagram_ring.h"
#include "util/time.h"

namespace sheaf::tunnel {

// Bytes that the queues of several tunnels may take together
class SharedRoom {
 public:
  explicit SharedRoom(std::size_t limit) : limit_(limit) {}

  bool take(std::size_t bytes) {
    if (bytes > limit_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void give_back(std::size_t bytes) { used_ -= bytes; }
  std::size_t used() const { return used_; }

 private:
  std::size_t limit_;
  std::size_t used_ = 0;
};

// Packets of one tunnel that wait for the client's connection, in order. Bounded in bytes by a
// limit of its own and by one that it shares with other tunnels. Refuses a packet that finds no
// room: what is older is nearer to its turn.
class PacketQueue {
 public:
  // `shared` must outlive this object.
  PacketQueue(std::size_t limit, SharedRoom& shared) : ring_(limit), shared_(shared) {}
  ~PacketQueue() { shared_.give_back(ring_.bytes()); }
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;

  bool empty() const { return ring_.empty(); }
  std::size_t size() const { return ring_.size(); }
  std::size_t bytes() const { return ring_.bytes(); }

  // Copies the packet. Returns false when it finds no room.
  bool push(quic::Bytes packet, quic::Time now) {
    const std::size_t most = packet.size() + quic::DatagramRing::k_overhead;
    if (!shared_.take(most)) return false;
    const std::size_t before = ring_.bytes();
    const auto tag = static_cast<std::uint64_t>(now.time_since_epoch().count());
    const bool taken = ring_.push(packet, tag);
    shared_.give_back(most - (ring_.bytes() - before));
    return taken;
  }
  // The oldest packet. There must be one.
  quic::Bytes front() const { return ring_.front()->payload; }
  void pop() {
    const std::size_t before = ring_.bytes();
    ring_.pop();
    shared_.give_back(before - ring_.bytes());
  }
  // Frees the memory of an empty queue, for a tunnel that is idle.
  void release() {
    if (ring_.empty()) ring_ = quic::DatagramRing(ring_.limit());
  }
  std::size_t allocated() const { return ring_.allocated(); }

 private:
  quic::DatagramRing ring_;
  SharedRoom& shared_;
};

}  // namespace sheaf::tunnel
