#pragma once

#include <cstdint>
#include <span>

#include "recovery/sent_frame.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

struct SentPacket {
  enum class State : std::uint8_t { kSkipped, kOutstanding, kAcknowledged, kLost };
  Time time_sent;
  std::uint64_t first_frame = 0;  // index in the frame log
  std::uint64_t delivered_at_send = 0;  // bytes delivered on the path when it was sent (rate sample)
  std::uint32_t frame_count = 0;
  std::uint16_t bytes = 0;
  State state = State::kOutstanding;
  bool ack_eliciting = false;
  bool in_flight = false;
  bool mtu_probe = false;
  Ecn ecn = Ecn::kNotEct;
};

// Packets of one packet number space from the oldest outstanding to the newest. Rings that grow to
// the working set and are then reused: nothing is allocated per packet.
class SentPackets {
 public:
  SentPackets();
  ~SentPackets();
  SentPackets(SentPackets&&) noexcept;

  PacketNumber next_number() const;
  // Leaves a number unused, to catch optimistic acknowledgements (RFC 9000 §21.4).
  void skip_number();
  // Adds a frame to the packet that is being built.
  void add_frame(const SentFrame& frame);
  std::span<const SentFrame> pending_frames() const;
  // Forgets frames added since the last `commit` (the packet was not built).
  void discard_pending();
  // Ends the packet being built and gives it `next_number()`.
  PacketNumber commit(const SentPacket& packet);

  // Null for numbers that are not kept any more or were never sent.
  SentPacket* find(PacketNumber number);
  // The frames of a kept packet, in at most two pieces because the log is a ring.
  template <typename Visit>
  void for_each_frame(const SentPacket& packet, Visit&& visit) const {
    for (std::uint32_t i = 0; i < packet.frame_count; ++i) visit(frame_at(packet.first_frame + i));
  }

  // First kept number; `next_number()` when nothing is kept.
  PacketNumber oldest() const;
  // Drops settled packets from the front; lost ones are kept until `keep_lost_since`, to recognise
  // spurious loss.
  void prune(Time keep_lost_since);
  std::size_t memory_bytes() const;

 private:
  const SentFrame& frame_at(std::uint64_t index) const;
  struct Rings;
  Rings* rings_;
};

}  // namespace sheaf::quic
