#pragma once

#include <memory>
#include <vector>

#include "channel_authentication/authenticator.h"
#include "channel_authentication/storing_verifier.h"
#include "crypto/packet_mac.h"

namespace sheaf::quic {

// Scheme MC_Y of MCQUIC (section 4.2): for each packet and receiver a tag under a key that only
// this receiver and the source have. For comparison: the cost grows with the receivers. The tag is
// GMAC over the sealed packet. The paper encrypts the packet again and keeps only the tag, which
// proves the same.
class ReceiverTagger final : public Authenticator {
 public:
  // An integrity frame has at most `max_frame` bytes.
  explicit ReceiverTagger(std::size_t max_frame = 1200);

  void add_receiver(std::uint64_t receiver, const MacKey& key);
  AuthenticationOffer offer(Time) override {
    AuthenticationOffer offer;
    offer.scheme = static_cast<std::uint8_t>(AuthenticationScheme::kUnnamed);
    return offer;
  }
  void add(std::span<const SealedPacket> packets, Time now) override;
  std::size_t max_frame() const override { return max_frame_; }
  Time next_timeout() const override { return first_ == end_ ? k_never : Time{}; }
  std::uint64_t dropped_proofs() const override { return dropped_; }
  std::size_t write_frame(MutableBytes room, Time now) override;

 private:
  struct Receiver {
    std::uint64_t id = 0;
    std::unique_ptr<PacketMac> mac;
  };
  struct PendingTags {
    PacketNumber number = 0;
    std::size_t written = 0;  // entries that were sent
    std::vector<std::uint8_t> entries;
  };
  static constexpr std::size_t k_pending = 128;  // packets; later ones replace earlier ones

  std::size_t max_frame_;
  std::vector<Receiver> receivers_;
  std::vector<PendingTags> pending_;
  std::uint64_t first_ = 0;  // of pending_, modulo its size
  std::uint64_t end_ = 0;
  std::uint64_t dropped_ = 0;
};

struct TagVerifierConfig {
  std::uint64_t receiver = 0;
  MacKey key{};
  std::size_t max_datagram = 1500;
  std::size_t max_bytes = CandidateStore::k_ordinary_bytes;
  Duration max_wait = 500ms;
};

class TagVerifier final : public StoringVerifier {
 public:
  // `random` lives longer.
  TagVerifier(const TagVerifierConfig& config, Random& random);

  Verdict on_packet(const ReceivedPacket& packet, Time now) override;
  bool on_frame(const IntegrityFrame& frame, FrameOrigin origin, Time now) override;

 private:
  // Tags that came before their packet, by the lowest bits of its number
  struct EarlyTag {
    PacketNumber number = k_no_packet_number;
    PacketTag tag{};
  };
  static constexpr std::size_t k_early = 1024;

  void on_tag(PacketNumber number, const std::uint8_t* tag);

  std::uint64_t receiver_;
  std::unique_ptr<PacketMac> mac_;
  std::vector<EarlyTag> early_;
};

}  // namespace sheaf::quic
