#pragma once

#include <array>
#include <memory>
#include <optional>

#include "recovery/sent_packets.h"
#include "scheduler/stream/stream_scheduler.h"
#include "stream/send_chunk.h"
#include "stream/stream_event.h"
#include "util/time.h"
#include "wire/frame.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// Receive windows grow from the initial value to the maximum while the application keeps up
// (flow_control/receive_window.h).
struct StreamSetConfig {
  std::uint64_t initial_connection_window = 1 << 20;
  std::uint64_t max_connection_window = 24 << 20;
  std::uint64_t initial_stream_window = 256 << 10;
  std::uint64_t max_stream_window = 8 << 20;
  std::uint64_t max_bidirectional_streams = 1000;  // open at once, by the peer
  std::uint64_t max_unidirectional_streams = 1000;
  std::uint64_t send_buffer = 1 << 20;  // accepted but not yet sent, per stream, in bytes
  std::uint64_t memory = k_max_varint;  // of all streams, as stream/send_budget.h divides it, bytes
  StreamSchedulerKind scheduler = StreamSchedulerKind::kExtensible;
};

enum class StreamRefusal : std::uint8_t {
  kUnknownStream,
  kWrongDirection,
  kStreamLimit,  // open: wait for kStreamsAvailable
  kFinished,     // write after the end or after a reset
  kElsewhere,    // pin: the stream lives at another server than the path leads to
};

struct ReadResult {
  std::size_t bytes = 0;
  bool finished = false;               // everything up to the end has been read
  std::optional<std::uint64_t> reset;  // the peer's error code
};

// What a server takes over of a connection's limits (docs/internals/multi-end.md): bytes that it
// may send, and ids of streams that it may open.
struct StreamLease {
  struct Ids {
    std::uint64_t first = 0;  // index
    std::uint64_t count = 0;
  };
  std::uint64_t credit = 0;
  std::array<Ids, 2> ids{};  // by Directionality
};

// All streams of a connection with flow control at both levels (RFC 9000 §2 to §4).
class StreamSet {
 public:
  StreamSet(Role role, const StreamSetConfig& config);
  ~StreamSet();

  // --- limits -------------------------------------------------------------------------------
  // Ours, for the transport parameters that this side announces.
  void fill_local_parameters(TransportParameters& parameters) const;
  // The peer's. With 0-RTT first the remembered ones, then the real ones, which may not be smaller
  // (RFC 9000 §7.4.1): PROTOCOL_VIOLATION.
  TransportStatus set_peer_parameters(const TransportParameters& parameters);
  // 0-RTT was rejected: everything that was sent is sent again from offset 0, and the limits of the
  // next `set_peer_parameters` replace the remembered ones, even with smaller values. To be called
  // before it, also when nothing was sent.
  void restart_sending();

  // --- application --------------------------------------------------------------------------
  Result<StreamId, StreamRefusal> open(Directionality directionality);
  std::uint64_t streams_available(Directionality directionality) const;
  // Takes the chunk whole. `false` = taken, but the buffer is now full: wait for kWritable.
  Result<bool, StreamRefusal> write(StreamId stream, SendChunk chunk, bool fin);
  Status<StreamRefusal> reset(StreamId stream, std::uint64_t error);
  // So many bytes from the stream's beginning arrive even if it is reset then, when the peer takes
  // RESET_STREAM_AT and does not ask for an end itself.
  void keep_reliable(StreamId stream, std::uint64_t bytes);
  Status<StreamRefusal> stop_sending(StreamId stream, std::uint64_t error);
  // Copies in-order bytes out; flow control credit is given back as they are read.
  Result<ReadResult, StreamRefusal> read(StreamId stream, MutableBytes out, Time now);
  // How much `read` gives.
  std::uint64_t readable_bytes(StreamId stream) const;
  // In-order bytes without a copy, as far as they lie side by side; valid until the next call on
  // this object.
  Bytes peek(StreamId stream) const;
  // Consumes what `peek` showed, as `read` does.
  Result<ReadResult, StreamRefusal> consume(StreamId stream, std::size_t bytes, Time now);
  // Without a word about the tree the stream keeps its place there.
  void set_priority(StreamId stream, const StreamPriority& priority);
  // Its place in the dependency tree (RFC 7540 §5.3.1).
  void set_dependency(StreamId stream, const Dependency& dependency);
  // A node of the dependency tree that has no stream (RFC 7540 §5.3.4).
  void set_group(const Dependency& group);
  // How much will have been written when the stream ends, if that is known before (a response's
  // Content-Length); schedulers look at what remains. A wrong number costs order, nothing else.
  void set_expected_bytes(StreamId stream, std::uint64_t total);
  // From now on its data, lost data included, and the frames about it leave on this path alone.
  // `apart`: the path leads to another server; then the stream must be new, and stays there.
  Status<StreamRefusal> pin(StreamId stream, PathId path, bool apart = false);
  bool pinned(StreamId stream) const;
  // Pinned to a path that leads to another server.
  bool apart(StreamId stream) const;
  // The path is gone: its streams may use any.
  void unpin_all(PathId path);
  std::uint64_t unsent_bytes(StreamId stream) const;  // written but not yet in a packet
  std::uint64_t unsent_bytes() const;                 // of all streams that any path may carry
  // Some of that waits for the connection's credit alone, not for that of its stream.
  bool needs_connection_credit() const;
  // The application filled the buffer of one of them and has not ended it: more than
  // `unsent_bytes` is to come.
  bool open_ended() const;
  std::uint64_t connection_credit() const;  // bytes that the peer's MAX_DATA still allows
  // For automatic window tuning.
  void set_rtt(Duration smoothed);

  std::optional<StreamEvent> poll_event();
  // Something has arrived, in order, that the application has not read.
  bool unread() const;

  // --- memory (stream/send_budget.h) ----------------------------------------------------------
  // From now on; what is held already stays until it is acknowledged.
  void set_memory(std::uint64_t bytes);
  // Memory that the application holds for the peer's requests, of the same budget.
  void hold(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  bool has_room_to_hold(std::uint64_t bytes) const;
  // For streams that nobody reads yet.
  bool has_room_to_wait() const;
  // How large a chunk to write next; kept free for the stream until its next `write`. 0: wait for
  // kWritable.
  std::uint64_t reserve(StreamId stream);

  std::size_t open_streams() const;
  std::size_t open_bidirectional_streams() const;
  // Frees what is kept for streams to come; for a connection that is idle.
  void trim_memory();
  // What streams were to send and have received is for nobody any more: the connection closes.
  void drop();
  std::uint64_t streams_total() const;

  // --- several servers (docs/internals/multi-end.md)
  // --------------------------------------------------- Other servers take part: the peer's streams
  // open here one by one, since those between are theirs, and the peer's data is counted by all
  // together.
  void share();
  // Client: frames that come now are from the server on this path; nothing: from the primary. Those
  // about streams of another server are STREAM_STATE_ERROR, new streams are pinned.
  void set_arrival(std::optional<PathId> path);
  // Client: that server is gone, and with it its streams (kLost). Nothing may come from it later:
  // what is returned is the final account.
  BackendUse lose(PathId path);
  std::size_t pinned_count(PathId path) const;
  // Client: some stream there cannot go on before the primary gives more credit, to us or to the
  // backend, which said that `limit` bytes are all that it may send.
  bool starved(PathId path, std::optional<std::uint64_t> limit) const;
  // Client: whether the connection's limit is what the last frame exceeded. Some backend may have
  // used more than it had: `tolerate` lets the primary use what it was granted all the same.
  bool exceeded() const;
  void tolerate();
  // Backend: the limits are a lease; those of the connection are the primary's affair.
  void start_leased(const StreamLease& lease);
  // Backend: more credit; ids when those it had are used up, false before.
  void extend_credit(std::uint64_t bytes);
  bool replace_ids(Directionality directionality, const StreamLease::Ids& ids);
  // Backend: gives up credit that is not used, at most so many bytes; returns how many.
  std::uint64_t give_up_credit(std::uint64_t bytes);
  // Backend: the largest MAX_DATA that arrived here instead of at the primary.
  std::uint64_t told_max_data() const;
  // Primary: takes credit and ids out of what it may use itself: as much as there is.
  StreamLease lease_out(const StreamLease& wanted);
  // Primary: of so much credit that was leased, so much was used; more when the backend lied.
  void settle(std::uint64_t leased, std::uint64_t used);
  // Primary: what a backend's application read, and how many of the client's streams it closed.
  void count_elsewhere(std::uint64_t consumed, std::uint64_t streams_closed, Time now);
  // What the application read here, and the peer's bidirectional streams that are closed.
  std::uint64_t consumed() const;
  std::uint64_t peer_streams_closed() const;

  // --- frames from the peer -----------------------------------------------------------------
  TransportStatus on_stream(const StreamFrame& frame, Time now);
  TransportStatus on_reset_stream(const ResetStreamFrame& frame);
  TransportStatus on_stop_sending(const StopSendingFrame& frame);
  TransportStatus on_max_data(const MaxDataFrame& frame);
  TransportStatus on_max_stream_data(const MaxStreamDataFrame& frame);
  TransportStatus on_max_streams(const MaxStreamsFrame& frame);
  TransportStatus on_data_blocked(const DataBlockedFrame& frame);
  TransportStatus on_stream_data_blocked(const StreamDataBlockedFrame& frame);
  TransportStatus on_streams_blocked(const StreamsBlockedFrame& frame);

  // --- packets to the peer ------------------------------------------------------------------
  // Of streams that any path may carry:
  bool has_control_to_send() const;  // flow control, resets, stop sending
  bool has_data_to_send() const;     // STREAM frames that flow control allows
  // Either, of streams pinned to this path.
  bool has_pinned_to_send(PathId path) const;
  // Appends frames to the packet and logs each with `sent.add_frame`.
  void write_control(Writer& writer, SentPackets& sent);
  // Fills the packet with STREAM frames in the scheduler's order; the last has no length field when
  // it reaches the end of the writer. Returns payload bytes written.
  std::size_t write_data(Writer& writer, SentPackets& sent, const SendOpportunity& opportunity);
  // The same and control frames, of the streams pinned to the opportunity's path.
  std::size_t write_pinned(Writer& writer, SentPackets& sent, const SendOpportunity& opportunity);
  // Sends again what is not acknowledged of a STREAM frame, for another path. `rest` becomes what
  // did not fit; true when nothing is left of it.
  bool write_copy(SentFrame& rest, Writer& writer, SentPackets& sent);
  // All stream frame kinds of SentFrame.
  void on_acknowledged(const SentFrame& frame);
  void on_lost(const SentFrame& frame);

  std::size_t memory_bytes() const;  // buffered and held, for limits and statistics

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::quic
