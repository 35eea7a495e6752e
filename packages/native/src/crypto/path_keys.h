#pragma once

#include "crypto/aead_usage.h"
#include "crypto/one_rtt_keys.h"
#include "crypto/path_packet_numbers.h"

namespace sheaf::quic {

// Keys of both directions that are updated together (RFC 9001 §6): those of one path, or with
// KeyMode::kShared those of all paths. `OneRttKeys` selects which; others use only that class.
class PathKeys {
 public:
  explicit PathKeys(CryptoProvider provider) : provider_(provider) {}
  // Continues from the state of another node. Old keys of an update in progress stay behind.
  PathKeys(const PathHandOver& state, CryptoProvider provider);

  void install_send_secret(const TrafficSecret& secret);
  void install_receive_secret(const TrafficSecret& secret);
  void drop_sending() { send_.reset(); }
  void drop_receiving() { receive_.reset(); }
  bool can_send() const { return send_.has_value(); }
  bool can_receive() const { return receive_.has_value(); }
  void save(PathHandOver& state) const;
  bool same_header_keys(const PathHandOver& state) const;
  PhaseKeys phase_for_sending(PathId path, PacketNumber first_number) const;

  std::uint8_t key_phase_bit() const;
  std::uint64_t generation_for_sending() const { return send_ ? send_->keys.generation : 0; }
  void seal(std::span<const SealJob> jobs);
  // Counts packets that another node seals with the present sending keys.
  void note_numbered_elsewhere(PathId path, PacketNumber first, std::uint64_t count);
  OpenedPacket open(MutableBytes packet, std::size_t packet_number_offset, PathId path,
                    PacketNumber largest_received, Time now);
  void keep_old_keys(Time until) {
    if (receive_) receive_->previous_until = until;
  }

  bool initiate_update(Time now, Duration probe_timeout);
  // Notes an acknowledgement in the latest opened packet.
  void on_acknowledged(PathId path, PacketNumber number, Time now);
  std::uint64_t updates() const;
  AeadUsage& usage() { return usage_; }
  const AeadUsage& usage() const { return usage_; }

 private:
  struct Send {
    Send(const DirectionKeys& first, CryptoProvider provider);
    void advance(CryptoProvider provider);

    DirectionKeys keys;
    std::unique_ptr<Aead> aead;
    std::unique_ptr<HeaderProtection> header_protection;
    bool used = false;             // a packet of this generation was sealed, here or elsewhere
    bool acknowledged = false;     // and such a packet was acknowledged
    Time acknowledged_at{};        // only when `acknowledged`
    PathPacketNumbers first_sent;  // lowest numbers of this generation, kept until `acknowledged`
  };
  struct Receive {
    Receive(const DirectionKeys& first, CryptoProvider provider);
    void prepare_next(CryptoProvider provider);
    void advance();
    void expire_previous(CryptoProvider provider, Time now);

    DirectionKeys keys;
    TrafficSecret next_secret;
    std::unique_ptr<Aead> aead;
    std::unique_ptr<Aead> previous;  // either this
    std::unique_ptr<Aead> next;      // or this
    std::unique_ptr<HeaderProtection> header_protection;
    Time previous_until = k_never;
    std::uint64_t last_opened_generation = 0;
    PathPacketNumbers first_received;  // of this generation, while `previous` exists
  };

  // Searches the generation of the first packet after a hand-over. The sender may be several
  // updates ahead.
  bool find_generation(MutableBytes packet, std::size_t header_length, PathId path,
                       PacketNumber number);
  // Decrypts with the keys of the packet's phase. A packet that is not genuine loses its payload.
  bool decrypt(MutableBytes packet, std::size_t header_length, PathId path, PacketNumber number,
               bool is_current);
  void advance_send();
  void on_peer_update(OpenedPacket& packet);

  CryptoProvider provider_;
  AeadUsage usage_{CipherSuite::kAes128GcmSha256};  // replaced with the first secret
  std::optional<Send> send_;
  std::optional<Receive> receive_;
  bool acknowledged_with_old_keys_ = false;
  bool may_be_behind_ = false;
};

}  // namespace sheaf::quic
