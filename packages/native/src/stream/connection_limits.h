#pragma once

#include <array>
#include <optional>

#include "flow_control/send_limit.h"
#include "flow_control/stream_limits.h"
#include "recovery/sent_packets.h"
#include "stream/event_queue.h"
#include "stream/receive_stream.h"
#include "stream/stream_set_config.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// Holds the peer's initial limits. They are named after the streams of this side that they apply to
// (RFC 9000 §7.4, §18.2).
struct PeerLimits {
  std::uint64_t data = 0;
  std::uint64_t stream_opened_here = 0;   // bidirectional
  std::uint64_t stream_opened_there = 0;  // bidirectional
  std::uint64_t stream_unidirectional = 0;
  std::array<std::uint64_t, 2> streams{};  // by Directionality
  bool reset_stream_at = false;

  explicit PeerLimits(const TransportParameters& parameters);
  // Returns whether some limit is lower than that of `other`.
  bool below(const PeerLimits& other) const;
  std::uint64_t for_stream(StreamId id, Role role) const;
};

// Holds the limits of a connection as a whole in both directions: the bytes of all streams, and the
// numbers of streams (RFC 9000 §4.1, §4.6). Writes the frames that announce them.
class ConnectionLimits {
 public:
  // `max_window` is the number of bytes that the memory of the connection leaves for receiving.
  ConnectionLimits(Role role, const StreamSetConfig& config, std::uint64_t max_window,
                   EventQueue& events);

  SendLimit& local_streams(Directionality directionality) {
    return local_streams_[index_of(directionality)];
  }
  PeerStreamLimit& peer_streams(Directionality directionality) {
    return peer_streams_[index_of(directionality)];
  }
  // Returns false for a stream beyond the peer's limit, which has to wait. After 0-RTT was
  // rejected, more streams may be open than the peer allows.
  bool permits(StreamId id) const {
    return id.initiator() != role || id.index() < local_streams_[index_of(id)].limit();
  }
  ReceiveContext receive_context() { return {receive, now, rtt}; }
  void fill(TransportParameters& parameters) const;
  std::uint64_t initial_send_limit(StreamId id) const {
    return peer ? peer->for_stream(id, role) : 0;
  }

  // --- what the peer allows ------------------------------------------------------------------
  // Returns true when the connection has more credit.
  bool raise_credit(std::uint64_t limit);
  void add_credit(std::uint64_t bytes);
  // Makes DATA_BLOCKED due, once for each limit.
  void note_blocked() {
    if (send.note_blocked()) request(k_data_blocked);
  }
  // Called when a stream could not be opened (RFC 9000 §4.6).
  void note_streams_blocked(Directionality directionality);
  void raise_local_streams(Directionality directionality, std::uint64_t limit);
  // Called when 0-RTT was rejected: the remembered limits no longer hold.
  void clear_peer_limits();

  // --- what is allowed to the peer -----------------------------------------------------------
  // Makes MAX_DATA due when credit was given back.
  void announce_receive_window();
  void request_max_streams_if_due(Directionality directionality);

  // --- frames about them ---------------------------------------------------------------------
  // Returns whether a frame is due. A backend only sends frames about its lease.
  bool control_due() const { return due_now() != 0; }
  // Returns false when the packet is full.
  bool write_control(Writer& writer, SentPackets& sent);
  // Repeats a lost frame whose content still holds (RFC 9000 §13.3). Returns false when the frame
  // is about one stream. `wants_credit` tells that a stream waits for credit of the connection.
  bool on_lost(const SentFrame& frame, bool wants_credit);

  const Role role;
  SendLimit send;         // bytes
  ReceiveWindow receive;  // bytes
  Time now{};             // time of the last call that was given one
  Duration rtt = Duration::zero();
  std::optional<PeerLimits> peer;
  bool leased = false;              // on a backend
  std::uint64_t told_max_data = 0;  // on a backend: the largest MAX_DATA that has arrived

 private:
  // The frames that are due.
  enum ControlBit : std::uint8_t {
    k_max_data = 1,
    k_data_blocked = 2,
    k_max_streams_bidi = 4,
    k_max_streams_uni = 8,
    k_streams_blocked_bidi = 16,
    k_streams_blocked_uni = 32,
  };

  static std::size_t index_of(Directionality directionality) {
    return static_cast<std::size_t>(directionality);
  }
  static std::size_t index_of(StreamId id) { return index_of(id.directionality()); }
  static std::uint8_t streams_blocked_bit(Directionality directionality) {
    return directionality == Directionality::kBidirectional ? k_streams_blocked_bidi
                                                            : k_streams_blocked_uni;
  }
  void request(std::uint8_t bit) { due_ |= bit; }
  void cancel(std::uint8_t bit) { due_ &= static_cast<std::uint8_t>(~bit); }
  std::uint8_t due_now() const { return leased ? due_ & k_data_blocked : due_; }

  EventQueue& events_;
  std::array<SendLimit, 2> local_streams_;       // streams that we may open, by Directionality
  std::array<PeerStreamLimit, 2> peer_streams_;  // by Directionality
  std::uint64_t announced_max_data_;
  std::uint8_t due_ = 0;  // bits of ControlBit
};

}  // namespace sheaf::quic
