#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// An order to another node to send part of a stream
// (docs/decisions/0022-packet-numbers-in-runs.md). Packet `first + i` carries `payload` bytes of
// the stream from `offset + i * payload`, in a single STREAM frame without a length field, whose
// offset field has 8 bytes. All packets have path 0 and packet numbers of 4 bytes. The connection
// has counted them as sent.
struct RunOrder {
  std::uint8_t sender = 0;  // index of the node; 0 is this node, which is never ordered
  StreamId stream;
  PacketNumber first = 0;
  std::uint8_t count = 0;     // packets
  std::uint16_t payload = 0;  // bytes of the stream in each packet
  std::uint64_t offset = 0;
  bool fin = false;              // the last packet ends the stream
  std::uint64_t generation = 0;  // of the keys to seal with: number of earlier key updates
  Ecn ecn = Ecn::kNotEct;
  Time time{};      // when the run was ordered
  Duration wait{};  // after which the node sends it, from RunLimits::waits

  std::uint64_t end() const { return offset + std::uint64_t{count} * payload; }
};

// A packet for the first bytes of a stream that another node may send of its own accord. In the
// form of a run of one packet, without an ECN mark.
struct FirstPacket {
  PacketNumber number = 0;
  std::uint16_t payload = 0;  // bytes of the stream
};
// What has become of it
enum class FirstFate : std::uint8_t {
  kSent,     // or is about to be. Whoever else goes on with the stream sends the same bytes.
  kSentAll,  // the same, and it ends the stream
  kNotSent,  // and never will be: the stream is as it was before
  kUnknown,  // neither side wants the stream any more
};

// What the owner of the senders permits. It changes as ways are measured.
struct RunLimits {
  std::size_t longest = 32;  // packets of a run
  // Packets below which a run waits until window and pacer let more go, unless it is all that the
  // sender has.
  std::size_t shortest = 8;
  // Numbers that are given out at one instant, whoever gets them. It limits bursts of the pacer.
  std::size_t per_turn = 96;
  // Packets of a stream in a turn: it ends between these numbers as soon as time has passed.
  std::size_t shortest_turn = 1;
  std::size_t longest_turn = 1;
  // How long data of one sender, or of this node, waits after a run of another sender.
  Duration before_switch{};
  // How long packets of each sender wait between their numbering and their sending, so that all
  // arrive in the order of their numbers. The first is for this node's own packets.
  std::array<Duration, 9> waits{};
};

}  // namespace sheaf::quic
