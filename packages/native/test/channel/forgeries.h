#pragma once

#include <algorithm>
#include <vector>

#include "channel/channel_messages.h"
#include "channel/packet_format.h"
#include "channel_authentication/integrity_frame.h"
#include "crypto/packet_protection.h"
#include "sim/pattern.h"
#include "util/random.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// Seals frames under any number, as each member can that has the keys of the channel.
inline std::vector<std::uint8_t> seal_as_member(const ChannelOffer& offer, const ChannelKey& key,
                                                PacketNumber number, Bytes frames, bool proof) {
  std::vector<std::uint8_t> packet(k_channel_overhead + frames.size());
  Writer out(packet);
  write_channel_header(out, offer.channel, (key.sequence & 1) != 0, number, proof);
  out.write_bytes(frames);
  const SealJob job{.packet = packet.data(),
                    .payload_length = static_cast<std::uint32_t>(frames.size()),
                    .header_length = k_channel_header_length,
                    .packet_number_length = k_channel_number_length,
                    .path = {},
                    .number = number};
  make_aead(key.secret)->seal({&job, 1});
  make_header_protection(offer.header)->protect({&job, 1});
  return packet;
}

// What a member sends to the group in the name of the source: streams with other bytes under
// numbers that the source is about to use, changed packets of the source, and proofs of them that
// are signed by nobody
class Forgeries {
 public:
  // `random` lives longer.
  Forgeries(const ChannelOffer& offer, Random& random) : offer_(offer), random_(random) {}

  void add_key(const ChannelKey& key) { keys_.push_back(key); }
  bool has_key() const { return !keys_.empty(); }

  // `next` is the number that the source will use next, and `genuine` its last packet, if known.
  std::vector<std::uint8_t> make(PacketNumber next, Bytes genuine) {
    const PacketNumber number = next + random_.below(6);
    sealed_number_ = number;
    switch (random_.below(4)) {
      case 0:
        return forged_proof(number);
      case 1: {
        if (genuine.empty()) break;
        sealed_number_.reset();
        std::vector<std::uint8_t> changed(genuine.begin(), genuine.end());
        changed.back() ^= 1;
        return changed;
      }
      default:
        break;
    }
    return sealed(number, forged_stream(), false);
  }

  // The number of the last packet, if it was not a changed one of the source
  std::optional<PacketNumber> sealed_number() const { return sealed_number_; }

 private:
  std::vector<std::uint8_t> sealed(PacketNumber number, Bytes frames, bool proof) const {
    const ChannelKey* key = &keys_.front();
    for (const ChannelKey& other : keys_) {
      if (other.first <= number) key = &other;
    }
    return seal_as_member(offer_, *key, number, frames, proof);
  }

  // A whole group with bytes of another pattern
  std::vector<std::uint8_t> forged_stream() {
    std::vector<std::uint8_t> frames(300);
    const StreamId group =
        StreamId::make(Role::kServer, Directionality::kUnidirectional, random_.below(200));
    StreamFrameHeader header{.stream = group, .offset = 0, .length = 200, .fin = true};
    Writer out(frames);
    encode(out, header);
    out.write_bytes(pattern_from(77, 200));
    frames.resize(out.size());
    return frames;
  }

  // A signed flight of the forgeries, whose signature is noise
  std::vector<std::uint8_t> forged_proof(PacketNumber number) {
    std::array<std::uint8_t, 16 * 4> hashes;
    random_.fill(hashes);
    std::array<std::uint8_t, k_signature_length> signature;
    random_.fill(signature);
    std::vector<std::uint8_t> frames(400);
    frames.resize(encode_integrity_frame(FlightFrame{.first = number,
                                                     .key_sequence = keys_.back().sequence,
                                                     .count = 4,
                                                     .hashes = hashes,
                                                     .signature = signature},
                                         frames));
    return sealed(number, frames, true);
  }

  ChannelOffer offer_;
  Random& random_;
  std::vector<ChannelKey> keys_;
  std::optional<PacketNumber> sealed_number_;
};

}  // namespace sheaf::quic
