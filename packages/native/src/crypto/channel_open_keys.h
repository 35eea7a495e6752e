#pragma once

#include <optional>

#include "crypto/aead_usage.h"
#include "crypto/channel_secret.h"
#include "util/time.h"

namespace sheaf::quic {

// The header of a channel's packet, without protection. The packet itself stays as it was on the
// wire, which its hash and forward erasure correction need.
struct ChannelHeader {
  std::array<std::uint8_t, k_channel_header_length> bytes{};
  PacketNumber number = 0;
  std::uint64_t key_sequence = 0;

  bool has_proof() const { return (bytes[0] & k_channel_proof_bit) != 0; }
};

// Opens the packets of a channel at a member (docs/internals/keys.md#keys-of-a-channel). Every
// member has these keys and can seal packets with them, so that an opened packet is not yet one of
// the source.
class ChannelOpenKeys {
 public:
  static constexpr std::size_t k_max_keys = 4;
  // How long a key lives after a packet under a later one (draft-jholland-quic-multicast)
  static constexpr Duration k_unused = 3s;    // when it opened nothing since then
  static constexpr Duration k_used = 10s;     // after the last packet that it opened since then
  static constexpr Duration k_longest = 60s;  // in any case

  enum class Added : std::uint8_t {
    kAdded,
    kKnown,    // an earlier sequence, or that of a key in use
    kInvalid,  // a first number below that of an earlier key or too far ahead, or another suite
    // Four keys are held, and no later one than the oldest is in use. After a while without a
    // proven packet the oldest one goes nevertheless: what comes after an outage needs later keys.
    kTooMany,
  };
  enum class Outcome : std::uint8_t {
    kOpened,
    kWrongTag,
    kNoKey,      // the key went in the meantime
    kExhausted,  // forged packets reached the limit of RFC 9001 §6.6: the channel must be left
  };
  // What the caller knows of a packet before it is opened: that it came from the source, or nothing
  enum class Origin : std::uint8_t { kProven, kUnproven };

  // `header_secret` protects the headers of all packets, whatever their key. It has the suite of
  // all keys. `ciphers` lives longer.
  explicit ChannelOpenKeys(const TrafficSecret& header_secret,
                           PacketCiphers& ciphers = library_ciphers());

  // A second key with the sequence of the newest one takes its place while that is not in use: the
  // source gave it up before it began.
  [[nodiscard]] Added add(const ChannelSecret& secret, Time now);

  // Reads the header of a packet, which stays as it is. Returns nothing for a packet that is too
  // short or has another form, that is older than all keys, or whose key phase is not that of the
  // key which its number needs.
  std::optional<ChannelHeader> read_header(Bytes packet);

  // Decrypts the packet's payload into `out`, which has room for it and does not overlap the
  // packet. Only proven packets count as the largest that numbers are decoded around, and as a use
  // of their key: another member could otherwise lead this one astray.
  [[nodiscard]] Outcome open(const ChannelHeader& header, Bytes packet, Origin origin, Time now,
                             std::uint8_t* out);

  // Writes the header of a packet whose bytes behind the number are known, as forward erasure
  // correction recovers them. The proof bit is the one with which the packet opens, since it is in
  // no other place. `out` has room for the payload, and the packet is only changed in its header.
  [[nodiscard]] Outcome restore_header(Bytes channel, PacketNumber number, MutableBytes packet,
                                       std::uint8_t* out);

  // Wipes keys whose time is over.
  void expire(Time now);
  Time next_expiry() const;

 private:
  struct Key {
    std::uint64_t sequence = 0;
    PacketNumber first = 0;
    std::unique_ptr<Aead> aead;
    bool in_use = false;        // a proven packet was opened
    Time superseded = k_never;  // when a packet under a later key was first opened
    Time last_use{};            // of the time after that
  };

  Key* key_of(PacketNumber number);
  Key* key_with(std::uint64_t sequence);
  bool is_in_order(const ChannelSecret& secret, const Key* before) const;
  void note_use(Key& key, PacketNumber number, Time now);
  void remove_oldest();
  static Time expiry(const Key& key);
  PacketNumber expected_base() const;

  PacketCiphers& ciphers_;
  CipherSuite suite_;
  AeadUsage usage_;
  std::unique_ptr<HeaderProtection> header_protection_;
  std::array<Key, k_max_keys> keys_;  // the first `count_`, by sequence
  std::size_t count_ = 0;
  PacketNumber largest_opened_ = k_no_packet_number;
  Time active_{};  // when the last proven packet was opened, or the first key was added
};

}  // namespace sheaf::quic
