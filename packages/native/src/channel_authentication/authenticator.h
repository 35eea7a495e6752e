#pragma once

#include <optional>
#include <span>

#include "channel_authentication/scheme.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// A packet that the source of a channel has sealed, as it goes on the wire
struct SealedPacket {
  PacketNumber number = 0;
  std::uint64_t key_sequence = 0;
  MutableBytes datagram;     // the packet, then room for the trailer
  bool proofs_only = false;  // it holds nothing but integrity frames
};

// Makes what proves to members that packets come from the source, since every member has the key
// that seals them (docs/internals/multicast-authentication.md). Schemes differ in what they add to
// a packet, and in the integrity frames that they send in packets of their own.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // What the channel's offer tells a receiver that joins now
  virtual AuthenticationOffer offer(Time now) = 0;
  // What a member is told that asks for the source's time; nothing where the scheme needs no clock
  virtual std::optional<SourceClock> clock(Time) { return std::nullopt; }
  // How many bytes stand behind each packet in its datagram
  virtual std::size_t trailer_length() const { return 0; }
  // Returns whether packets of this time can be proven. Others must not be sealed.
  virtual bool accepts(Time) const { return true; }
  // Takes packets in the order of their numbers, and writes their trailers.
  virtual void add(std::span<const SealedPacket> packets, Time now) = 0;
  // Bytes of the longest integrity frame, for which packets need room
  virtual std::size_t max_frame() const { return 0; }
  // When on_timeout is due, or a frame
  virtual Time next_timeout() const { return k_never; }
  virtual void on_timeout(Time) {}
  // Writes the next integrity frame that has to be sent. Returns its length; 0 when there is none
  // or it does not fit.
  virtual std::size_t write_frame(MutableBytes, Time) { return 0; }
  // How many proofs were given up because they were not sent in time. Their packets stay without.
  virtual std::uint64_t dropped_proofs() const { return 0; }
  // Bytes of packets from this number on are still read, here or on a helper thread.
  virtual PacketNumber reads_from() const { return k_no_packet_number; }
  // Reads none of the packets' bytes any more: their memory goes. Nothing is added after this.
  virtual void stop() {}
};

// Scheme `none`: every member can forge packets.
class NoAuthenticator final : public Authenticator {
 public:
  AuthenticationOffer offer(Time) override { return {}; }
  void add(std::span<const SealedPacket>, Time) override {}
};

}  // namespace sheaf::quic
