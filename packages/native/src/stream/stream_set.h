#pragma once

#include <memory>
#include <optional>

#include "stream/incoming_frames.h"
#include "stream/leased_limits.h"
#include "stream/outgoing_frames.h"
#include "stream/pinned_streams.h"
#include "stream/remote_streams.h"
#include "stream/shared_limits.h"
#include "stream/stream_event.h"
#include "stream/stream_memory.h"
#include "stream/stream_reader.h"
#include "stream/stream_set_config.h"
#include "stream/stream_writer.h"
#include "util/time.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// Holds all streams of a connection, with flow control at both levels (RFC 9000 §2 to §4). Each
// role object is the view of one kind of caller.
class StreamSet {
 public:
  StreamSet(Role role, const StreamSetConfig& config);
  ~StreamSet();

  // --- application ---------------------------------------------------------------------------
  StreamWriter& writer() { return writer_; }
  const StreamWriter& writer() const { return writer_; }
  StreamReader& reader() { return reader_; }
  const StreamReader& reader() const { return reader_; }
  StreamMemory& memory() { return memory_; }
  const StreamMemory& memory() const { return memory_; }
  std::optional<StreamEvent> poll_event();

  // --- packets -------------------------------------------------------------------------------
  IncomingFrames& incoming() { return incoming_; }
  OutgoingFrames& outgoing() { return outgoing_; }
  const OutgoingFrames& outgoing() const { return outgoing_; }
  PinnedStreams& pinned() { return pinned_; }
  const PinnedStreams& pinned() const { return pinned_; }

  // Responses that another node sends in part.
  RemoteStreams& remote() { return remote_; }
  const RemoteStreams& remote() const { return remote_; }

  // --- several servers ------------------------------------------------------------------------

  // Called when other servers take part (docs/internals/multi-end.md). From then on the peer's
  // streams open here one by one, since the streams between them belong to other servers, and all
  // servers together count the peer's data.
  void share();
  SharedLimits& shared_limits() { return shared_limits_; }
  LeasedLimits& leased_limits() { return leased_limits_; }

  // --- limits --------------------------------------------------------------------------------
  // Fills in the limits of this side for the transport parameters that it announces.
  void fill_local_parameters(TransportParameters& parameters) const;
  // Sets the peer's limits. With 0-RTT, the remembered limits are set first and the announced ones
  // later. An announced limit below a remembered one is a PROTOCOL_VIOLATION (RFC 9000 §7.4.1).
  TransportStatus set_peer_parameters(const TransportParameters& parameters);
  // Called when 0-RTT was rejected: all data is sent again from offset 0, and the limits of the
  // next `set_peer_parameters` replace the remembered ones, even with smaller values. Must be
  // called before it, even when nothing was sent.
  void restart_sending();
  // Sets the round-trip time by which receive windows are tuned.
  void set_rtt(Duration smoothed);

  // --- life ----------------------------------------------------------------------------------
  std::size_t open_streams() const;
  std::size_t open_bidirectional_streams() const;
  std::uint64_t streams_total() const;
  // Called when the connection closes: discards the data that streams were to send or have
  // received.
  void drop();

 private:
  void apply_peer_limits();
  // Completes an event, and returns its value. Returns nothing when the event is out of date.
  std::optional<std::uint64_t> take(StreamEvent::Kind kind, Stream& stream);

  std::unique_ptr<StreamParts> parts_;
  bool peer_limits_void_ = false;  // 0-RTT was rejected, so the next limits replace these
  StreamWriter writer_;
  StreamReader reader_;
  StreamMemory memory_;
  IncomingFrames incoming_;
  OutgoingFrames outgoing_;
  PinnedStreams pinned_;
  RemoteStreams remote_;
  SharedLimits shared_limits_;
  LeasedLimits leased_limits_;
};

}  // namespace sheaf::quic
