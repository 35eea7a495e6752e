#pragma once

#include "connection/parts.h"
#include "connection/path_numbering.h"
#include "connection/path_selection.h"
#include "connection/run_builder.h"

namespace sheaf::quic {

// Builds the datagrams that a connection wants to send now: decides what may leave, fills packets
// in order of importance, and seals a whole batch at once.
class PacketBuilder {
 public:
  // On one path, which has a connection id to send to.
  PacketBuilder(ConnectionParts& parts, PathEntry& entry, Time now)
      : parts_(parts),
        entry_(entry),
        path_(*entry.path),
        selection_(parts, now),
        numbering_(parts, entry, now),
        now_(now) {}
  void build(TransmitBatch& batch);
  // What waits to be sent without anything that is for later: probes, a key update.
  void build_last_words(TransmitBatch& batch);
  // CONNECTION_CLOSE alone (RFC 9000 §10.2.1).
  void build_close(TransmitBatch& batch);

 private:
  // What the next packet may carry, and what the path learns from that.
  struct Admission {
    enum class Extent : std::uint8_t { kNothing, kAcknowledgementOnly, kValidation, kFull };
    Extent extent = Extent::kNothing;
    bool validates = false;     // carries challenges or responses
    bool carries_data = false;  // data that any path could carry
    bool wants_reply = false;   // the peer is to acknowledge this packet
    std::optional<bool> application_limited{};
    Time next_send = k_never;  // when the pacer lets the packet go
  };
  // A packet before it is sealed.
  struct Draft {
    SealJob job;
    bool ack_eliciting = false;
    bool carries_data = false;                // that any path could carry
    std::size_t first_data_frame = SIZE_MAX;  // of new data, among the packet's frames
    bool expand = false;                      // to 1200 bytes (RFC 9000 §8.2.1)
    bool more_alike = false;  // has a datagram (RFC 9221), and one of the same length is next
  };

  void build_one_rtt(TransmitBatch& batch);
  void build_early(TransmitBatch& batch);
  bool build_elsewhere(TransmitBatch& batch);
  bool build_to(OtherAddresses& other, TransmitBatch& batch);
  void build_mtu_probe(TransmitBatch& batch, std::uint16_t size);

  bool path_wants_to_send() const;
  bool validation_due() const;
  bool own_frames_due() const { return entry_.on_own_path() && entry_.frames_due(); }
  bool path_management_due() const;
  bool copies_due() const;
  bool pinned_due() const;
  bool pinned_goes_first() const;
  bool connection_wants_to_send() const;
  bool acknowledges_others() const;
  bool may_demand_acknowledgement() const;
  Admission admit(std::size_t packet_size);
  void obey(const Admission& admission);
  // Orders another node to send the data that is next, on a connection that has such nodes.
  RunBuilder::Outcome order_run(const Admission& admission, bool unsealed);
  bool frames_precede_data() const;
  bool write_packet(MutableBytes room, const Admission& admission, Draft& draft);
  void write_short_header(Writer& writer, SealJob& job, const ConnectionId& destination);
  void write_frames(Writer& writer, Draft& draft);
  void write_validation_frames(Writer& writer, Draft& draft);
  bool write_responses(PathResponses& responses, Writer& writer);
  bool write_challenge(PathValidation& validation, Writer& writer);
  void write_connection_frames(Writer& writer, Draft& draft);
  void write_pinned(Writer& writer);
  void write_copies(Writer& writer);
  void queue_copies(const Draft& draft);
  void write_ack(Writer& writer, PathEntry& of);
  bool write_frame(Writer& writer, const Frame& frame, const SentFrame& sent);
  void finish_payload(Writer& writer, Draft& draft, std::size_t room);
  // Takes the packet number and records what was sent under it. Returns the packet's size.
  std::size_t number_packet(const Draft& draft, Ecn mark, bool mtu_probe);
  // Does the same for a packet on the path's own addresses, and counts it there.
  void commit(const Draft& draft, Ecn mark, bool mtu_probe);
  void seal_single(TransmitBatch& batch, Draft& draft);
  bool grease_fixed_bit();

  ConnectionParts& parts_;
  PathEntry& entry_;
  Path& path_;
  PathSelection selection_;
  PathNumbering numbering_;
  Time now_;
  std::uint64_t reserved_ = 0;  // of the window, for an MTU probe
  bool frames_due_ = false;     // path management has something to say
};

}  // namespace sheaf::quic
