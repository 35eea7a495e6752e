#pragma once

#include <cstdint>
#include <optional>

#include "connection/received_datagram.h"
#include "recovery/sent_packets.h"
#include "util/bytes.h"
#include "util/datagram_ring.h"

namespace sheaf::quic {

// Holds datagrams (RFC 9221) that wait to be sent or read, bounded in bytes each way. Refuses one
// that finds no room to be sent, so that its sender knows. Drops the oldest unread one when another
// arrives, since applications of datagrams want the newest. Age alone drops nothing.
class DatagramQueue {
 public:
  explicit DatagramQueue(std::size_t limit) : outgoing_(limit), incoming_(limit) {}

  // Returns false when there is no room; `take_writable` tells when to try again.
  bool send(Bytes payload, std::uint64_t identifier);
  bool has_pending() const { return !outgoing_.empty(); }
  void limit_outgoing(std::size_t bytes) { outgoing_.set_limit(bytes); }
  // Appends as many DATAGRAM frames as fit. Returns whether any did.
  bool write_frames(Writer& writer, SentPackets& sent);
  // Whether the next datagram is as long as the one that was written last.
  bool next_is_alike() const;
  // Removes the first datagram when it needs more than `packet_room` bytes.
  std::optional<std::uint64_t> discard_larger_than(std::size_t packet_room);
  // True once after `send` refused a datagram, as soon as half of the room is free.
  bool take_writable();

  // Returns how many datagrams were dropped: older ones, or this one when it is too large (RFC 9221
  // §5.3).
  std::size_t receive(const ReceivedDatagram& datagram);
  // Returns the next datagram, valid until `receive`.
  std::optional<ReceivedDatagram> read();
  bool has_unread() const { return !incoming_.empty(); }

  std::uint64_t sent_count() const { return sent_count_; }
  std::uint64_t received_count() const { return received_count_; }

 private:
  DatagramRing outgoing_;
  DatagramRing incoming_;
  bool refused_ = false;
  std::size_t written_size_ = 0;  // of the last one
  std::uint64_t sent_count_ = 0;
  std::uint64_t received_count_ = 0;
};

}  // namespace sheaf::quic
