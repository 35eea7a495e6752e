#pragma once

#include <cstdint>
#include <optional>

#include "recovery/sent_packets.h"
#include "stream/stream_memory.h"
#include "util/bytes.h"
#include "util/datagram_ring.h"

namespace sheaf::quic {

// Holds datagrams (RFC 9221) that wait to be sent or read, bounded in bytes each way. Refuses one
// that finds no room to be sent, so that its sender knows. Drops the oldest unread one when another
// arrives, since applications of datagrams want the newest. Age alone drops nothing. The memory is
// that of the connection's streams, and is only taken where they leave room.
class DatagramQueue {
 public:
  // `limit` is in bytes.
  DatagramQueue(std::size_t limit, StreamMemory& memory)
      : limit_(limit), memory_(memory), outgoing_(limit), incoming_(limit) {}

  // Returns false when there is no room; `take_writable` tells when to try again.
  bool send(Bytes payload, std::uint64_t identifier);
  bool has_pending() const { return !outgoing_.empty(); }
  // Appends as many DATAGRAM frames as fit.
  void write_frames(Writer& writer, SentPackets& sent);
  // Removes the first datagram when it needs more than `packet_room` bytes.
  std::optional<std::uint64_t> discard_larger_than(std::size_t packet_room);
  // True once after `send` refused a datagram, as soon as half of the room is free.
  bool take_writable();

  // Returns how many datagrams were dropped: older ones, or this one when it is too large (RFC 9221
  // §5.3).
  std::size_t receive(Bytes payload);
  // Returns the next datagram, valid until `receive`.
  std::optional<Bytes> read();
  bool has_unread() const { return !incoming_.empty(); }

  std::uint64_t sent_count() const { return sent_count_; }
  std::uint64_t received_count() const { return received_count_; }

 private:
  // Each way, whatever the streams hold.
  static constexpr std::size_t k_least = 16 << 10;

  void limit_by_memory(DatagramRing& ring);
  // Tells the memory of the connection what both arrays take.
  void count();

  std::size_t limit_;
  StreamMemory& memory_;
  std::size_t counted_ = 0;
  DatagramRing outgoing_;
  DatagramRing incoming_;
  bool refused_ = false;
  std::uint64_t sent_count_ = 0;
  std::uint64_t received_count_ = 0;
};

}  // namespace sheaf::quic
