#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recovery/sent_packets.h"
#include "util/bytes.h"
#include "util/ring.h"

namespace sheaf::quic {

// RFC 9221 datagrams waiting to be sent and to be read, bounded in number each way.
class DatagramQueue {
 public:
  explicit DatagramQueue(std::size_t limit) : limit_(limit) {}

  // False when the queue is full.
  bool send(Bytes payload, std::uint64_t identifier);
  bool has_pending() const { return !outgoing_.empty(); }
  // Appends as many DATAGRAM frames as fit.
  void write_frames(Writer& writer, SentPackets& sent);
  // Takes off the first datagram when it needs more than `packet_room` bytes.
  std::optional<std::uint64_t> discard_larger_than(std::size_t packet_room);

  // False when the queue is full: the datagram is dropped (RFC 9221 §5.3).
  bool receive(Bytes payload);
  std::optional<std::vector<std::uint8_t>> read();

  std::uint64_t sent_count() const { return sent_count_; }
  std::uint64_t received_count() const { return received_count_; }

 private:
  struct Outgoing {
    std::vector<std::uint8_t> payload;
    std::uint64_t identifier;
  };
  Ring<Outgoing> outgoing_;
  Ring<std::vector<std::uint8_t>> incoming_;
  std::size_t limit_;
  std::uint64_t sent_count_ = 0;
  std::uint64_t received_count_ = 0;
};

}  // namespace sheaf::quic
