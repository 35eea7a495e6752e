#pragma once

#include <cstdint>
#include <optional>

#include "recovery/sent_packets.h"
#include "util/bytes.h"
#include "util/datagram_ring.h"

namespace sheaf::quic {

// RFC 9221 datagrams waiting to be sent and to be read, bounded in bytes each way. What cannot be
// sent soon enough is refused, so that its sender knows; of what is not read soon enough the oldest
// is dropped, since the newest is worth most where datagrams are used. Age alone drops nothing.
class DatagramQueue {
 public:
  explicit DatagramQueue(std::size_t limit) : outgoing_(limit), incoming_(limit) {}

  // False when there is no room: `take_writable` tells when to try again.
  bool send(Bytes payload, std::uint64_t identifier);
  bool has_pending() const { return !outgoing_.empty(); }
  // Appends as many DATAGRAM frames as fit.
  void write_frames(Writer& writer, SentPackets& sent);
  // Takes off the first datagram when it needs more than `packet_room` bytes.
  std::optional<std::uint64_t> discard_larger_than(std::size_t packet_room);
  // Once after `send` refused one, as soon as half of the room is free.
  bool take_writable();

  // How many others were dropped for it, or itself when it is too large (RFC 9221 §5.3).
  std::size_t receive(Bytes payload);
  // The next one; valid until `receive`.
  std::optional<Bytes> read();
  bool has_unread() const { return !incoming_.empty(); }

  std::uint64_t sent_count() const { return sent_count_; }
  std::uint64_t received_count() const { return received_count_; }

 private:
  DatagramRing outgoing_;
  DatagramRing incoming_;
  bool refused_ = false;
  std::uint64_t sent_count_ = 0;
  std::uint64_t received_count_ = 0;
};

}  // namespace sheaf::quic
