#pragma once

#include <memory>
#include <optional>

#include "crypto/packet_protection.h"
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
  MutableBytes payload;      // inside the packet that was given
  bool key_updated = false;  // this packet made us follow the peer's key update
  TransportErrorCode error = TransportErrorCode::kNoError;
};

// Keys of 1-RTT packets in both directions, with key update (RFC 9001 §6, RFC 10069 §5.6): one key
// phase for all paths. Either direction may be missing: a server has no receive secret before the
// client's Finished, and later systems have connections that only send or only receive.
class OneRttKeys {
 public:
  explicit OneRttKeys(CryptoProvider provider = CryptoProvider::kAutomatic);
  ~OneRttKeys();

  void install_send_secret(const TrafficSecret& secret);
  void install_receive_secret(const TrafficSecret& secret);
  bool can_send() const;
  // The present key may seal nothing more but what closes the connection, at most 192 packets
  // (RFC 9001 §6.6).
  bool confidentiality_limit_reached() const;
  bool can_receive() const;

  // Key phase bit of packets that are built now (0 or k_key_phase_bit).
  std::uint8_t key_phase_bit() const;
  // Seals and applies header protection. All jobs were built in the current phase.
  void seal(std::span<const SealJob> jobs);

  // `packet` starts with the short header; `packet_number_offset` = 1 + connection id length.
  // `probe_timeout` is the largest over all paths: old keys are kept for 3 of them.
  OpenedPacket open(MutableBytes packet, std::size_t packet_number_offset, PathId path,
                    PacketNumber largest_received, Time now, Duration probe_timeout);

  // Starts a key update; false while a previous one is not confirmed, or too early
  // (RFC 9001 §6.5, RFC 10069 §5.6), or before the handshake is confirmed.
  bool initiate_update(Time now, Duration probe_timeout);
  void confirm_handshake();
  // A packet of `path` was acknowledged; confirms an update when it was sent with the new keys.
  // The peer acknowledging it in a packet of older keys is KEY_UPDATE_ERROR, which the next `open`
  // reports.
  void on_acknowledged(PathId path, PacketNumber number, Time now);
  // True from half of the confidentiality limit on: update now.
  bool wants_update() const;
  std::uint64_t updates() const;

  const TrafficSecret* send_secret() const;     // of the current phase; null when absent
  const TrafficSecret* receive_secret() const;  // of the current phase; null when absent

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::quic
