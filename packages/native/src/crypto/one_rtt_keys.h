#pragma once

#include <memory>
#include <optional>

#include "crypto/packet_protection.h"
#include "crypto/path_hand_over.h"
#include "crypto/phase_keys.h"
#include "util/time.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Outcome of a received short header packet
struct OpenedPacket {
  enum class Outcome : std::uint8_t {
    kOpened,
    kDropped,  // forged, damaged, or of an expired key phase
    kError,    // `error` closes the connection
  };
  Outcome outcome = Outcome::kDropped;
  PacketNumber number = 0;
  MutableBytes payload;          // inside the given packet
  bool key_updated = false;      // this packet made us follow the peer's key update
  bool began_phase = false;      // this packet is the first of the peer's update
  std::uint64_t generation = 0;  // of the keys that opened it: number of earlier updates
  TransportErrorCode error = TransportErrorCode::kNoError;
};

// Keys of 1-RTT packets in both directions, with key update (RFC 9001 §6, RFC 10069 §5.6). There is
// one key phase for all paths, or with KeyMode::kPerPath one for each (docs/internals/keys.md).
// Either direction may be missing: a server has no receive secret before the client's Finished, and
// later systems have connections that only send or only receive.
//
// A node with the traffic secrets knows every path that it did not hand over or forget. A node that
// took over paths knows only these. Queries about an unknown path return false.
class OneRttKeys {
 public:
  explicit OneRttKeys(CryptoProvider provider = CryptoProvider::kAutomatic);
  ~OneRttKeys();

  // Sets the mode before the first secret; both sides know it by then.
  void set_mode(KeyMode mode);
  KeyMode mode() const;
  void install_send_secret(const TrafficSecret& secret);
  void install_receive_secret(const TrafficSecret& secret);
  bool can_send(PathId path) const;
  bool can_receive(PathId path) const;
  bool can_receive() const;  // on any path
  // Whether the present key may seal only packets that close the connection, at most 192 (RFC 9001
  // §6.6)
  bool confidentiality_limit_reached(PathId path) const;

  // Key phase bit of packets that are built now (0 or k_key_phase_bit)
  std::uint8_t key_phase_bit(PathId path) const;
  // The number of earlier updates of the keys that seal them
  std::uint64_t generation_for_sending(PathId path) const;
  // Seals packets and applies header protection. All jobs are of one path, in the order of their
  // numbers, and were built in its current phase. Seals nothing and returns false when the path is
  // unknown, or a number is not above the numbers sealed before, so that no nonce is used twice
  // with one key.
  [[nodiscard]] bool seal(std::span<const SealJob> jobs);

  // Lends the keys that the path seals with in its present phase. The path stays with this node,
  // which allocates all of its numbers. Returns nothing for a path that is unknown or was not used
  // yet, and before the handshake is confirmed.
  std::optional<PhaseKeys> phase_for_sending(PathId path) const;
  // Leaves all sending on the path to other nodes, for good: from now on this node neither seals
  // nor opens anything there, and only lends the keys of each phase. The peer says on other paths
  // what it received. Returns false in KeyMode::kShared, before the handshake is confirmed, and for
  // a path that this node cannot send on.
  [[nodiscard]] bool lend(PathId path);
  // Wipes the keys with which this node could send on the path, where it only receives. Only in
  // KeyMode::kPerPath.
  void drop_sending(PathId path);
  // Counts numbers that another node may use with lent keys of the present phase, whether it will
  // or not: against the AEAD limits, as reached by an update, and as used up, so that they are
  // never sealed here. Returns false and notes nothing when the path is unknown, `count` is 0, or
  // `first` is not above the numbers sealed or noted before; packets with lower numbers are sealed
  // first.
  [[nodiscard]] bool note_numbered_elsewhere(PathId path, PacketNumber first, std::uint64_t count);

  // Opens a packet. `packet` starts with the short header, and `packet_number_offset` is 1 + the
  // length of the connection id. After one that began a phase, `keep_old_keys` must follow.
  OpenedPacket open(MutableBytes packet, std::size_t packet_number_offset, PathId path,
                    PacketNumber largest_received, Time now);
  // Keeps the keys of the path's phase before for three times `probe_timeout`, which is the largest
  // of the paths that share them.
  void keep_old_keys(PathId path, Time now, Duration probe_timeout);

  // Starts a key update of the path's keys. Returns false while an earlier update is not confirmed,
  // when it is too early (RFC 9001 §6.5, RFC 10069 §5.6), and before the handshake is confirmed.
  bool initiate_update(PathId path, Time now, Duration probe_timeout);
  void confirm_handshake();
  // Notes that the latest opened packet acknowledges a packet of `path`, which confirms an update
  // if that was sent with the new keys. In KeyMode::kPerPath, only packets on the path itself
  // count. An acknowledgement in a packet with older keys is KEY_UPDATE_ERROR, which the next
  // `open` reports.
  void on_acknowledged(PathId path, PacketNumber number, Time now);
  // Whether half of the confidentiality limit is used, so that an update should start
  bool wants_update(PathId path) const;
  std::uint64_t updates() const;  // on all paths

  // Hands over the path, which this node then never uses again. Returns nothing for an unknown path
  // and before the handshake is confirmed. In KeyMode::kShared, also returns nothing for a path
  // that was itself taken over, and after 32 hand-overs, since the nodes share the AEAD limits of
  // shared keys (AeadUsage::part).
  std::optional<PathHandOver> hand_over(PathId path);
  // Adds a path that was handed over, in place of installing secrets. Returns false for a state
  // that no node hands over, a path that this node ever had, and a path of another mode or
  // connection.
  bool take_over(const PathHandOver& state);
  // Forgets a path for good, and wipes its keys.
  void forget(PathId path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::quic
