#pragma once

#include <optional>
#include <vector>

#include "channel/packet_format.h"
#include "channel/packet_ring.h"
#include "channel/source_keys.h"
#include "channel_authentication/authenticator.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// The source's end of the log: writes frames into packets, seals packets in batches where they lie,
// and lends them. Packets are first written, then numbered and sealed when they are due, then sent.
// So proofs, which are written last, may go before packets that wait for the rate.
class SourceLog {
 public:
  struct Config {
    ChannelId channel{};
    std::size_t packet_size = 0;
    std::size_t reach = 0;  // packets
    PacketNumber first = 0;
  };
  // `authenticator` lives longer.
  SourceLog(const Config& config, SourceKeys keys, Authenticator& authenticator);
  // The authenticator, and its helper thread, read packets of the log.
  ~SourceLog() { authenticator_.stop(); }
  SourceLog(const SourceLog&) = delete;
  SourceLog& operator=(const SourceLog&) = delete;

  struct Written {
    std::size_t bytes = 0;
    bool fin = false;
  };
  // Writes bytes of a stream and its end. Returns what fitted: packets that were not sent yet take
  // at most half of the log.
  Written write_stream(StreamId stream, std::uint64_t offset, Bytes data, bool fin);
  // Returns false when the log has no room.
  bool write_frame(const Frame& frame);
  // Lets the next frame begin a packet, with which receivers that come later begin.
  void begin_group();
  // The number where the newest group begins, or a lower one that was not sent yet
  PacketNumber group_start() const { return group_start_.value_or(sealed_end_); }
  // Leaves the rest of the current packet empty, so that what follows begins a packet.
  void begin_packet();
  // Writes and seals packets with the integrity frames that are due.
  void write_proofs(Time now);

  // Returns packets that lie side by side and were not sent yet, at most `most` of them, and counts
  // them as sent. All have the packet size, except for the last. Seals no others, since their proof
  // may tell when they are sent.
  Bytes take_due(std::size_t most, Time now);
  bool has_due() const {
    return !stopped_ && (sent_end_ < sealed_end_ || unsealed_ < written_ || open_length_ > 0);
  }
  // A packet could not be sealed or not be proven, or has no room for proofs. Nothing is sent any
  // more.
  bool stopped() const { return stopped_; }

  const PacketRing& ring() const { return ring_; }
  const SourceKeys& keys() const { return keys_; }
  Time next_timeout() const { return keys_.next_timeout(); }
  void advance_keys(Time now) { keys_.advance(now); }
  void set_key_notice(PacketNumber packets) { keys_.set_notice(packets); }
  void on_receiver_left() { keys_.on_left(); }
  // One above the last packet that was sent
  PacketNumber sent_end() const { return sent_end_; }
  // Forgets packets with lower numbers, unless they are still to be sent or authenticated.
  void forget_before(PacketNumber number);

 private:
  static constexpr std::size_t k_batch = 48;
  // A place in the order of writing
  using Position = std::uint64_t;
  struct Slot {
    PacketNumber number = k_no_packet_number;  // of the sealed packet in it
    std::uint16_t length = 0;                  // of the written packet, without its tag
  };

  std::size_t capacity() const { return config_.packet_size - k_aead_tag_length - trailer_; }
  Slot& slot(Position position) { return slots_[position % config_.reach]; }
  // Opens another packet if the open one has less room. Returns false when the log is full.
  bool has_room(std::size_t at_least);
  bool open_packet();
  void close_packet(bool full);
  // Frees the slot of the next packet. Returns false while its old packet is in use.
  bool free_slot();
  void seal_up_to(PacketNumber end, Time now);
  void seal(std::span<const Position> positions, bool are_proofs, Time now);
  // Returns false when the packets are as they were, since no key or no proof is left for them.
  [[nodiscard]] bool seal_batch(std::span<const Position> positions, bool are_proofs, Time now);

  Config config_;
  SourceKeys keys_;
  Authenticator& authenticator_;
  std::size_t trailer_;
  PacketRing ring_;
  std::vector<Slot> slots_;
  std::size_t open_length_ = 0;  // header and frames of the open packet; 0: none is open
  Position written_ = 0;         // of the open packet, or of the next one
  Position unsealed_ = 0;        // of the first packet that waits to be sealed
  std::size_t waiting_ = 0;      // packets that are written and wait to be sealed: no proofs
  PacketNumber sealed_end_;
  PacketNumber sent_end_;
  Position group_position_ = 0;
  std::optional<PacketNumber> group_start_;
  bool stopped_ = false;
};

}  // namespace sheaf::quic
