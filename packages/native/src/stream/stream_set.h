#pragma once

#include <memory>
#include <optional>

#include "stream/incoming_frames.h"
#include "stream/leased_limits.h"
#include "stream/outgoing_frames.h"
#include "stream/pinned_streams.h"
#include "stream/shared_limits.h"
#include "stream/stream_event.h"
#include "stream/stream_memory.h"
#include "stream/stream_reader.h"
#include "stream/stream_set_config.h"
#include "stream/stream_writer.h"
#include "util/time.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// All streams of a connection with flow control at both levels (RFC 9000 §2 to §4). Each role is
// one side from which they are seen.
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

  // --- several servers ------------------------------------------------------------------------

  // Other servers take part (docs/internals/multi-end.md): the peer's streams open here one by one,
  // since those between are theirs, and the peer's data is counted by all together.
  void share();
  SharedLimits& shared_limits() { return shared_limits_; }
  LeasedLimits& leased_limits() { return leased_limits_; }

  // --- limits --------------------------------------------------------------------------------
  // Ours, for the transport parameters that this side announces.
  void fill_local_parameters(TransportParameters& parameters) const;
  // The peer's. With 0-RTT first the remembered ones, then the real ones, which may not be smaller
  // (RFC 9000 §7.4.1): PROTOCOL_VIOLATION.
  TransportStatus set_peer_parameters(const TransportParameters& parameters);
  // 0-RTT was rejected: everything that was sent is sent again from offset 0, and the limits of the
  // next `set_peer_parameters` replace the remembered ones, even with smaller values. To be called
  // before it, also when nothing was sent.
  void restart_sending();
  // For automatic window tuning.
  void set_rtt(Duration smoothed);

  // --- life ----------------------------------------------------------------------------------
  std::size_t open_streams() const;
  std::size_t open_bidirectional_streams() const;
  std::uint64_t streams_total() const;
  // The connection closes: nobody wants any more what streams were to send and have received.
  void drop();

 private:
  void apply_peer_limits();
  // Does what the event stands for, and says what it tells; nothing: it is out of date.
  std::optional<std::uint64_t> take(StreamEvent::Kind kind, Stream& stream);

  std::unique_ptr<StreamParts> parts_;
  bool peer_limits_void_ = false;  // 0-RTT was rejected: the next ones replace them
  StreamWriter writer_;
  StreamReader reader_;
  StreamMemory memory_;
  IncomingFrames incoming_;
  OutgoingFrames outgoing_;
  PinnedStreams pinned_;
  SharedLimits shared_limits_;
  LeasedLimits leased_limits_;
};

}  // namespace sheaf::quic
