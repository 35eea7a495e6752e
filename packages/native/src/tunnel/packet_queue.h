#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "util/datagram_ring.h"
#include "util/time.h"

namespace sheaf::tunnel {

// Bytes that the queues of all tunnels may take together
class SharedRoom {
 public:
  explicit SharedRoom(std::size_t limit) : limit_(limit) {}

  std::size_t used() const { return used_; }
  std::size_t left() const { return limit_ - used_; }

 private:
  friend class RoomShare;

  std::size_t limit_;
  std::size_t used_ = 0;
};

// What the tunnels of one connection take of the room: at most as much as is left then. So one
// connection has half of it, two have a third each, and there is always room for another one
// (Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998).
class RoomShare {
 public:
  // `used` is what all tunnels of the connection have taken. Both must outlive this object.
  RoomShare(SharedRoom& room, std::size_t& used) : room_(room), used_(used) {}

  bool take(std::size_t bytes) {
    if (used_ + 2 * bytes > room_.left()) return false;
    used_ += bytes;
    room_.used_ += bytes;
    return true;
  }
  void give_back(std::size_t bytes) {
    used_ -= bytes;
    room_.used_ -= bytes;
  }

 private:
  SharedRoom& room_;
  std::size_t& used_;
};

// Packets of one tunnel that wait for the client's connection, in order. Bounded in bytes by a
// limit of its own and by the share of its connection. Refuses a packet that finds no
// room: what is older is nearer to its turn.
class PacketQueue {
 public:
  PacketQueue(std::size_t limit, RoomShare shared) : ring_(limit), shared_(shared) {}
  ~PacketQueue() { shared_.give_back(ring_.bytes()); }
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;

  bool empty() const { return ring_.empty(); }
  std::size_t limit() const { return ring_.limit(); }
  std::size_t size() const { return ring_.size(); }
  std::size_t bytes() const { return ring_.bytes(); }
  std::size_t payload_bytes() const { return payload_bytes_; }

  // Copies the packet. Returns false when it finds no room.
  bool push(quic::Bytes packet, quic::Time now) {
    const std::size_t most = packet.size() + quic::DatagramRing::k_overhead;
    if (!shared_.take(most)) return false;
    const std::size_t before = ring_.bytes();
    const auto tag = static_cast<std::uint64_t>(now.time_since_epoch().count());
    const bool taken = ring_.push(packet, tag);
    shared_.give_back(most - (ring_.bytes() - before));
    if (taken) payload_bytes_ += packet.size();
    return taken;
  }
  // The oldest packet, and when it came. There must be one.
  quic::Bytes front() const { return ring_.front()->payload; }
  quic::Time front_time() const {
    return quic::Time(quic::Duration(static_cast<std::int64_t>(ring_.front()->tag)));
  }
  void pop() {
    const std::size_t before = ring_.bytes();
    payload_bytes_ -= front().size();
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
  RoomShare shared_;
  std::size_t payload_bytes_ = 0;
};

// A queue that most tunnels never need: it exists only while something waits in it.
class SeldomQueue {
 public:
  bool empty() const { return !queue_; }
  std::size_t payload_bytes() const { return queue_ ? queue_->payload_bytes() : 0; }
  bool push(quic::Bytes packet, quic::Time now, std::size_t limit, RoomShare shared) {
    if (!queue_) queue_ = std::make_unique<PacketQueue>(limit, shared);
    const bool taken = queue_->push(packet, now);
    if (queue_->empty()) queue_.reset();
    return taken;
  }
  quic::Bytes front() const { return queue_->front(); }
  void pop() {
    queue_->pop();
    if (queue_->empty()) queue_.reset();
  }
  void clear() { queue_.reset(); }

 private:
  std::unique_ptr<PacketQueue> queue_;
};

}  // namespace sheaf::tunnel
