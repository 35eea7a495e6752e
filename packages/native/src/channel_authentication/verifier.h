#pragma once

#include <optional>

#include "channel_authentication/integrity_frame.h"
#include "channel_authentication/scheme.h"
#include "util/time.h"

namespace sheaf::quic {

// A datagram of a channel, whose header was read and which nothing proves yet
struct ReceivedPacket {
  PacketNumber number = 0;
  std::uint64_t key_sequence = 0;
  Bytes datagram{};       // the packet as on the wire, and its trailer
  bool by_group = false;  // the group brought it, not a copy
};

// A packet of the source, as it was on the wire
struct ProvenPacket {
  PacketNumber number = 0;
  std::uint64_t key_sequence = 0;
  Bytes sealed;           // without its trailer
  bool by_group = false;  // the group brought these bytes, whatever else did
};

enum class Verdict : std::uint8_t {
  kProven,     // the packet may be opened now
  kWaiting,    // it is kept until its proof comes, and then returned by next_proven
  kDuplicate,  // the same bytes wait already
  kForged,     // the source did not send it
  kRefused,    // no room, out of reach, or too late to prove anything
};

struct VerifierCounts {
  std::uint64_t forged_packets = 0;
  std::uint64_t refused_packets = 0;
  std::uint64_t evicted_packets = 0;  // left for others, or waited for too long
  std::uint64_t forged_frames = 0;
  std::uint64_t refused_frames = 0;  // not checked, for want of room or because of the limit
};

// How an integrity frame reached a member
enum class FrameOrigin : std::uint8_t { kChannel, kConnection };

// Decides at a member which packets come from the source. The order is: store, authenticate, open,
// frames (docs/internals/multicast-authentication.md).
class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual std::size_t trailer_length() const { return 0; }
  // Whether nobody but the source makes packets that this object takes
  virtual bool proves_source() const { return true; }
  // The caller drops packets whose number it has already.
  virtual Verdict on_packet(const ReceivedPacket& packet, Time now) = 0;
  // Takes an integrity frame of a packet that need not be proven. Frames that the connection
  // brought are checked without a limit. Returns false for a frame that has no place in this
  // scheme.
  virtual bool on_frame(const IntegrityFrame& frame, FrameOrigin origin, Time now) = 0;
  // Whether packets are proven by their time, so that the source's has to be asked for
  virtual bool needs_clock() const { return false; }
  // Takes what the source said of its clock, on the connection to it.
  virtual void on_clock(const SourceClock&) {}
  // Returns the next packet that was waiting and is proven. Its bytes stay until the next call.
  virtual std::optional<ProvenPacket> next_proven() { return std::nullopt; }
  virtual Time next_timeout() const { return k_never; }
  virtual void on_timeout(Time) {}
  virtual VerifierCounts counts() const { return {}; }
};

// Scheme `none`
class NoVerifier final : public Verifier {
 public:
  bool proves_source() const override { return false; }
  Verdict on_packet(const ReceivedPacket&, Time) override { return Verdict::kProven; }
  bool on_frame(const IntegrityFrame&, FrameOrigin, Time) override { return false; }
};

}  // namespace sheaf::quic
