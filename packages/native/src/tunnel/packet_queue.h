#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tunnel/packet.h"
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
  bool push(const Packet& packet, quic::Time now) {
    const std::size_t most = packet.payload.size() + quic::DatagramRing::k_overhead;
    if (!shared_.take(most)) return false;
    const std::size_t before = ring_.bytes();
    const auto time = static_cast<std::uint64_t>(now.time_since_epoch().count());
    const bool taken = ring_.push(packet.payload, tag_of(time, packet.ecn));
    shared_.give_back(most - (ring_.bytes() - before));
    if (taken) payload_bytes_ += packet.payload.size();
    return taken;
  }
  // The oldest packet, and when it came. There must be one.
  Packet front() const {
    const auto entry = ring_.front();
    return {entry->payload, static_cast<quic::Ecn>(entry->tag & k_ecn_bits)};
  }
  quic::Time front_time() const {
    return quic::Time(quic::Duration(static_cast<std::int64_t>(ring_.front()->tag >> k_ecn_width)));
  }
  // Marks the oldest packet, which waits on if it finds no room now.
  void mark_front() { ring_.set_front_tag(ring_.front()->tag | k_ecn_bits); }
  void pop() {
    const std::size_t before = ring_.bytes();
    payload_bytes_ -= front().payload.size();
    ring_.pop();
    shared_.give_back(before - ring_.bytes());
  }
  // Frees the memory of an empty queue, for a tunnel that is idle.
  void release() {
    if (ring_.empty()) ring_ = quic::DatagramRing(ring_.limit());
  }
  std::size_t allocated() const { return ring_.allocated(); }

 private:
  // The bits of a tag above the mark tell the time: nanoseconds of 70 years.
  static constexpr int k_ecn_width = 2;
  static constexpr std::uint64_t k_ecn_bits = 3;  // as `Ecn::kCe`
  static std::uint64_t tag_of(std::uint64_t time, quic::Ecn ecn) {
    return time << k_ecn_width | static_cast<std::uint64_t>(ecn);
  }

  quic::DatagramRing ring_;
  RoomShare shared_;
  std::size_t payload_bytes_ = 0;
};

// A queue that most tunnels never need: it exists only while something waits in it.
class SeldomQueue {
 public:
  bool empty() const { return !queue_; }
  std::size_t payload_bytes() const { return queue_ ? queue_->payload_bytes() : 0; }
  bool push(const Packet& packet, quic::Time now, std::size_t limit, RoomShare shared) {
    if (!queue_) queue_ = std::make_unique<PacketQueue>(limit, shared);
    const bool taken = queue_->push(packet, now);
    if (queue_->empty()) queue_.reset();
    return taken;
  }
  Packet front() const { return queue_->front(); }
  void pop() {
    queue_->pop();
    if (queue_->empty()) queue_.reset();
  }
  void clear() { queue_.reset(); }

 private:
  std::unique_ptr<PacketQueue> queue_;
};

}  // namespace sheaf::tunnel
