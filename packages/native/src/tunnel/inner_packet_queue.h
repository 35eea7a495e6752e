#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tunnel/feedback_meter.h"
#include "util/codel_law.h"
#include "util/datagram_ring.h"
#include "util/time.h"

namespace sheaf::quic {

struct InnerPacketQueueConfig {
  static constexpr std::size_t k_unbounded = std::size_t{1} << 40;

  std::size_t limit = k_unbounded;  // bytes of packets with their headers in the queue
  std::size_t framing = 0;          // bytes before each packet that no count includes
  bool codel = false;
  bool repeats_first = true;  // what is sent again goes before what never was
};

struct InnerPacketCounts {
  std::uint64_t queued = 0;  // packets; without repeats
  std::uint64_t repeated = 0;
  std::uint64_t taken = 0;    // repeats included
  std::uint64_t full = 0;     // dropped: no room
  std::uint64_t managed = 0;  // dropped by CoDel
  std::uint64_t bytes_dropped = 0;
  std::uint64_t bytes_arrived = 0;  // of the packets that came, dropped ones included
  std::uint64_t bytes_left = 0;     // of packets that were taken, repeats not included
};

// Holds packets of inner connections that wait for room in their tunnel, bounded in bytes. A packet
// that finds no room is dropped and counted. Packets that are sent again wait in a queue of their
// own, and CoDel does not drop them.
class InnerPacketQueue {
 public:
  explicit InnerPacketQueue(const InnerPacketQueueConfig& config)
      : config_(config), packets_(config.limit), repeats_(config.limit) {}

  // Copies the packet. Returns false when it was dropped.
  bool push(Bytes packet, Time now);
  // Does the same with a packet that was sent before.
  bool push_repeat(Bytes packet, Time now);
  // Returns the next packet, valid until the next call; nothing when none waits. Packets that CoDel
  // drops are gone afterwards.
  std::optional<Bytes> front(Time now);
  // Removes what `front` has just returned.
  void pop();
  // Whether the packet in front was sent before
  bool front_is_repeat() const { return repeat_is_front_; }

  bool empty() const { return packets_.empty() && repeats_.empty(); }
  std::size_t bytes() const { return bytes_; }
  Duration oldest_wait(Time now) const;
  // Returns the smallest number of bytes that waited since the last call.
  std::size_t take_least_bytes();
  const InnerPacketCounts& counts() const { return counts_; }
  // Returns what a report says about the packets of this queue, and begins to look for the smallest
  // number of bytes anew.
  FlowAtTunnel take_flow(Time now);

 private:
  bool has_room(Bytes packet) const {
    return packets_.bytes() + repeats_.bytes() + packet.size() + DatagramRing::k_overhead <=
           config_.limit;
  }
  std::size_t counted(Bytes packet) const { return packet.size() - config_.framing; }
  void shrink(std::size_t bytes);

  InnerPacketQueueConfig config_;
  DatagramRing packets_;  // tagged with the time when they came
  DatagramRing repeats_;
  CoDelLaw law_;
  std::size_t bytes_ = 0;
  std::size_t least_bytes_ = 0;
  bool repeat_is_front_ = false;
  InnerPacketCounts counts_;
};

}  // namespace sheaf::quic
