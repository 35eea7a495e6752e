#pragma once

#include <memory>
#include <optional>

#include "crypto/packet_protection.h"
#include "crypto/path_hand_over.h"
#include "util/time.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// What became of a received short header packet.
struct OpenedPacket {
  enum class Outcome : std::uint8_t {
    kOpened,
    kDropped,  // forged, damaged, or of a key phase that is gone
    kError,    // `error` closes the connection
  };
  Outcome outcome = Outcome::kDropped;
  PacketNumber number = 0;
  MutableBytes payload;          // inside the packet that was given
  bool key_updated = false;      // this packet made us follow the peer's key update
  std::uint64_t generation = 0;  // of the keys that opened it: updates before
  TransportErrorCode error = TransportErrorCode::kNoError;
};

// Keys of 1-RTT packets in both directions, with key update (RFC 9001 §6, RFC 10069 §5.6): one key
// phase for all paths, or with KeyMode::kPerPath one for each (docs/internals/keys.md). Either
// direction may be missing: a server has no receive secret before the client's Finished, and later
// systems have connections that only send or only receive.
//
// A node that has the traffic secrets knows every path that it did not hand over or forget. One
// that took paths over knows these alone. What is said about a path that is not known is false.
class OneRttKeys {
 public:
  explicit OneRttKeys(CryptoProvider provider = CryptoProvider::kAutomatic);
  ~OneRttKeys();

  // Before the first secret; both sides know the mode by then.
  void set_mode(KeyMode mode);
  KeyMode mode() const;
  void install_send_secret(const TrafficSecret& secret);
  void install_receive_secret(const TrafficSecret& secret);
  bool can_send(PathId path) const;
  bool can_receive(PathId path) const;
  bool can_receive() const;  // on any path
  // The present key may seal nothing more but what closes the connection, at most 192 packets
  // (RFC 9001 §6.6).
  bool confidentiality_limit_reached(PathId path) const;

  // Key phase bit of packets that are built now (0 or k_key_phase_bit).
  std::uint8_t key_phase_bit(PathId path) const;
  // Seals and applies header protection. All jobs are of one path, in the order of their numbers,
  // and were built in its current phase. Seals nothing and is false when the path is not known or a
  // number is not above those that were sealed before: no nonce is used twice with one key.
  [[nodiscard]] bool seal(std::span<const SealJob> jobs);

  // `packet` starts with the short header; `packet_number_offset` = 1 + connection id length. Old
  // keys are kept for 3 of `probe_timeout`, which is the largest of the paths that share them.
  OpenedPacket open(MutableBytes packet, std::size_t packet_number_offset, PathId path,
                    PacketNumber largest_received, Time now, Duration probe_timeout);

  // Starts a key update of the path's keys; false while a previous one is not confirmed, or too
  // early (RFC 9001 §6.5, RFC 10069 §5.6), or before the handshake is confirmed.
  bool initiate_update(PathId path, Time now, Duration probe_timeout);
  void confirm_handshake();
  // The packet that was opened last acknowledges one of `path`; confirms an update when that was
  // sent with the new keys. In KeyMode::kPerPath only what comes on the path itself counts. The
  // peer acknowledging it in a packet of older keys is KEY_UPDATE_ERROR, which the next `open`
  // reports.
  void on_acknowledged(PathId path, PacketNumber number, Time now);
  // True from half of the confidentiality limit on: update now.
  bool wants_update(PathId path) const;
  std::uint64_t updates() const;  // on all paths

  // Another node has the path from now on, and this one never again. Nothing when it is not known,
  // before the handshake is confirmed, and in KeyMode::kShared for a path that was itself taken
  // over or when 32 were handed over: the AEAD limits of shared keys are shared out
  // (AeadUsage::part).
  std::optional<PathHandOver> hand_over(PathId path);
  // Instead of installing secrets: adds a path. False for what no node gives, for a path that this
  // node ever had, and for one of another mode or connection.
  bool take_over(const PathHandOver& state);
  // The path is gone for good; its keys are wiped.
  void forget(PathId path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::quic
