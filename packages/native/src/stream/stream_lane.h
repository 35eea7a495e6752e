#pragma once

#include <array>
#include <memory>
#include <optional>

#include "scheduler/stream/stream_scheduler.h"
#include "stream/stream.h"

namespace sheaf::quic {

// Groups the streams that share the paths they may use: either those pinned to one path, or all
// others. Their data and the frames about them leave on these paths only.
struct StreamLane {
  StreamLane(std::optional<PathId> only_path, StreamSchedulerKind kind, bool lane_apart = false)
      : path(only_path), apart(lane_apart), scheduler(make_stream_scheduler(kind)) {}

  std::optional<PathId> path;  // nothing when any path may be used
  bool apart;  // leads to another server, so that no stream moves to or from other lanes
  std::unique_ptr<StreamScheduler> scheduler;
  std::array<std::size_t, 3> sender_count{};  // streams by Sendability
  std::uint64_t unsent = 0;                   // bytes written but not yet in a packet
  std::size_t open_ended = 0;                 // streams whose application has more to write
  StreamList<Stream, &Stream::control_link> control_queue;
  // Streams with something to send that precede every stream of the scheduler.
  StreamList<Stream, &Stream::ahead_link> ahead;
  BackendUse use;  // on the client, with `apart`

  // Called when the stream has something to send, or its remaining bytes have changed.
  void schedule(Stream& stream) {
    if (stream.priority.ahead) {
      ahead.push_back(stream);
    } else {
      scheduler->activate(stream.id, stream.remaining());
    }
  }
  void unschedule(Stream& stream) {
    ahead.remove(stream);
    scheduler->deactivate(stream.id);
  }
  void on_sent(const Stream& stream, std::uint64_t bytes, const SendOpportunity& opportunity) {
    if (stream.priority.ahead) return;
    scheduler->on_sent(stream.id, {.bytes = bytes, .remaining = stream.remaining()}, opportunity);
  }

  std::size_t& senders(SendStream::Sendability sendability) {
    return sender_count[static_cast<std::size_t>(sendability)];
  }
  // Returns the number of its streams.
  std::size_t size() const { return sender_count[0] + sender_count[1] + sender_count[2]; }
  std::size_t senders(SendStream::Sendability sendability) const {
    return sender_count[static_cast<std::size_t>(sendability)];
  }
  // Returns whether a stream waits only for credit of the connection, and not for credit of the
  // stream.
  bool needs_credit() const { return senders(SendStream::Sendability::kNewData) > 0; }
};

}  // namespace sheaf::quic
