#pragma once

#include <array>
#include <vector>

#include "flow_control/send_limit.h"
#include "flow_control/stream_limits.h"
#include "stream/event_queue.h"
#include "stream/send_budget.h"
#include "stream/stream_lane.h"
#include "stream/stream_set.h"
#include "stream/stream_table.h"
#include "util/interval_set.h"

namespace sheaf::quic {

// What a StreamSet is made of, and the steps that its application side, its receiving side and its
// sending side share.
struct StreamSet::State {
  // The peer's initial limits, by what they apply to on our side.
  struct PeerLimits {
    std::uint64_t data = 0;
    std::uint64_t stream_opened_here = 0;   // bidirectional
    std::uint64_t stream_opened_there = 0;  // bidirectional
    std::uint64_t stream_unidirectional = 0;
    std::array<std::uint64_t, 2> streams{};  // by Directionality
    bool reset_stream_at = false;

    bool below(const PeerLimits& other) const;
    std::uint64_t for_stream(StreamId id, Role role) const;
  };
  // Connection-level frames that are due.
  enum ControlBit : std::uint8_t {
    k_max_data = 1,
    k_data_blocked = 2,
    k_max_streams_bidi = 4,
    k_max_streams_uni = 8,
    k_streams_blocked_bidi = 16,
    k_streams_blocked_uni = 32,
  };
  using Sendability = SendStream::Sendability;

  State(Role role, const StreamSetConfig& config);

  static std::size_t index_of(Directionality directionality) {
    return static_cast<std::size_t>(directionality);
  }
  static std::uint8_t max_streams_bit(Directionality directionality) {
    return directionality == Directionality::kBidirectional ? k_max_streams_bidi
                                                            : k_max_streams_uni;
  }
  static std::uint8_t streams_blocked_bit(Directionality directionality) {
    return directionality == Directionality::kBidirectional ? k_streams_blocked_bidi
                                                            : k_streams_blocked_uni;
  }
  SendLimit& local_limit(StreamId id) { return local_streams[index_of(id.directionality())]; }
  PeerStreamLimit& peer_limit(StreamId id) { return peer_streams[index_of(id.directionality())]; }
  ReceiveContext receive_context() { return {connection_receive, now, rtt}; }

  // --- life of a stream -------------------------------------------------------------------------
  Stream& create(StreamId id);
  StreamLane& make_pinned_lane(PathId path, bool apart);
  // Null when nothing is pinned to the path.
  StreamLane* pinned_lane(PathId path) const;
  // With all that waits to be sent.
  void move(Stream& stream, StreamLane& lane);
  void enter(Stream& stream, StreamLane& lane);
  void leave(Stream& stream);
  // Queues kClosed when both parts are done.
  void close_if_finished(Stream& stream);
  void forget(Stream& stream);

  // --- sending ----------------------------------------------------------------------------------
  // After 0-RTT was rejected more streams may be open than the peer now allows; those wait.
  bool permitted(StreamId id) {
    return id.initiator() != role || id.index() < local_limit(id).limit();
  }
  // To be called after whatever changes what the stream could send.
  void refresh_sending(Stream& stream);
  // Puts the stream where it belongs: scheduled, waiting for connection credit, or neither.
  void place(Stream& stream);
  void schedule_credit_waiters();
  // Some stream has new data.
  bool wants_credit() const;
  void note_connection_blocked();
  void request_control(Stream& stream, std::uint8_t bit);
  void cancel_control(Stream& stream, std::uint8_t bit);
  void reset_sending(Stream& stream);
  // Brings up to date what the budget counts of the stream.
  void count_held(Stream& stream);
  bool has_room(const Stream& stream) const;
  SendBudget::Stream budget_view(const Stream& stream) const;
  // It is told when there is room again.
  void await_room(Stream& stream);
  void wake(Stream& stream);
  void wake_writers();
  bool has_data_to_send(const StreamLane& lane) const;
  void write_control(StreamLane& lane, Writer& writer, SentPackets& sent);
  std::size_t write_data(StreamLane& lane, Writer& writer, SentPackets& sent,
                         const SendOpportunity& opportunity);
  // Payload bytes; none when there is no room.
  std::optional<std::size_t> write_stream_frame(Stream& stream, Writer& writer, SentPackets& sent);
  bool write_segment(Stream& stream, SendStream::Segment& segment, Writer& writer,
                     SentPackets& sent);
  bool write_connection_control(Writer& writer, SentPackets& sent);
  bool write_stream_control(Stream& stream, Writer& writer, SentPackets& sent);
  void on_lost(Stream& stream, const SentFrame& frame);

  // --- receiving --------------------------------------------------------------------------------
  // The stream that a frame for its receiving or sending part names, opened if need be; null when
  // it was closed before.
  Result<Stream*, TransportError> find_receiving(StreamId id, FrameType type);
  Result<Stream*, TransportError> find_sending(StreamId id, FrameType type);
  Result<Stream*, TransportError> find_or_open(StreamId id, FrameType type);
  Result<Stream*, TransportError> open_alone(StreamId id, FrameType type);
  // The server that the frame in hand came from has this stream.
  bool at_arrival(const Stream& stream) const;
  // Credit of the connection was given back: MAX_DATA may be due.
  void announce_connection_window();
  void consume(Stream& stream, std::uint64_t bytes);
  // The application has read what the reset leaves reliable.
  void tell_reset(Stream& stream);
  void widen_over_gap(Stream& stream);
  void announce_stream_window(Stream& stream);
  void finish_read(Stream& stream, ReadResult& result);

  // --- limits -----------------------------------------------------------------------------------
  void apply_peer_limits(const PeerLimits& limits);
  void raise_local_streams(Directionality directionality, std::uint64_t limit);
  void raise_stream(Stream& stream, std::uint64_t limit);
  // After limits changed in a way that can concern any stream.
  void refresh_all();

  Role role;
  StreamSetConfig config;
  Time now{};  // of the last call that told it
  Duration rtt = Duration::zero();

  BlockPool blocks;  // outlives the streams
  StreamTable streams;
  EventQueue events;

  StreamLane shared;                                // streams that any path may carry
  std::vector<std::unique_ptr<StreamLane>> pinned;  // one for each path with streams of its own
  StreamList<Stream, &Stream::credit_link> credit_waiters;
  SendBudget budget;
  StreamList<Stream, &Stream::room_link> room_waiters;  // in the order in which they were refused
  bool room_to_look_for = false;                        // something changed since it was last
  std::uint8_t control_due = 0;                         // of ControlBit
  // A backend speaks of its lease alone.
  std::uint8_t connection_control_due() const {
    return leased ? control_due & k_data_blocked : control_due;
  }

  SendLimit connection_send;
  std::array<SendLimit, 2> local_streams;  // that we may open, by Directionality
  ReceiveWindow connection_receive;
  std::uint64_t announced_max_data;
  std::array<PeerStreamLimit, 2> peer_streams;  // by Directionality

  // Several servers (docs/internals/multi-end.md).
  bool shared_streams = false;
  bool leased = false;
  std::optional<PathId> arrival;           // of the frame in hand, client
  std::array<IntervalSet, 2> peer_opened;  // indices, bounded; only with `shared_streams`
  std::uint64_t told_max_data = 0;         // backend
  std::uint64_t peer_bidirectional_closed = 0;
  std::uint64_t created = 0;  // streams, ever
  std::size_t open_bidirectional = 0;

  std::optional<PeerLimits> peer_limits;
  bool peer_limits_void = false;  // 0-RTT was rejected: the next ones replace them
};

// For every packet.
inline SendBudget::Stream StreamSet::State::budget_view(const Stream& stream) const {
  return {.unsent = stream.send.unsent_bytes() + stream.reserved,
          .credit = stream.send.limit().available()};
}

inline void StreamSet::State::count_held(Stream& stream) {
  const std::uint64_t held = stream.send.held_bytes() + stream.reserved;
  const std::uint64_t stalled = budget_view(stream).stalled();
  budget.hold(held - stream.counted_held);
  budget.stall(stalled - stream.counted_stalled);
  stream.counted_held = held;
  stream.counted_stalled = stalled;
}

}  // namespace sheaf::quic
