#pragma once

#include <memory>
#include <vector>

#include "stream/connection_limits.h"
#include "stream/stream_lane.h"
#include "stream/write_room.h"

namespace sheaf::quic {

// Puts each stream into the queues of the paths that it may use. One queue is for data, another for
// control frames about streams.
class StreamLanes {
 public:
  using Sendability = SendStream::Sendability;

  StreamLanes(StreamSchedulerKind scheduler, ConnectionLimits& limits, WriteRoom& room)
      : scheduler_(scheduler), limits_(limits), room_(room), any_path_(std::nullopt, scheduler) {}

  // The lane of streams that any path may carry.
  StreamLane& any_path() { return any_path_; }
  const StreamLane& any_path() const { return any_path_; }
  bool some_pinned() const { return !pinned_.empty(); }
  // Returns null when no stream is pinned to the path.
  StreamLane* pinned_to(PathId path) const;
  StreamLane& make_pinned(PathId path, bool apart);
  // The lane must be empty.
  void erase(const StreamLane& lane);

  void enter(Stream& stream, StreamLane& lane);
  // Moves the stream, together with everything that waits to be sent on it.
  void move(Stream& stream, StreamLane& lane);
  void leave(Stream& stream);

  // Must be called after any change of what the stream could send.
  void refresh(Stream& stream);
  // Puts the stream into its place: scheduled, waiting for connection credit, or neither.
  void place(Stream& stream);
  void schedule_credit_waiters();
  // Returns whether some stream has new data.
  bool wants_credit() const;
  void note_connection_blocked() {
    if (wants_credit()) limits_.note_blocked();
  }
  bool has_data(const StreamLane& lane) const {
    return lane.senders(Sendability::kNowPossible) > 0 ||
           (lane.senders(Sendability::kNewData) > 0 && limits_.send.available() > 0);
  }

  // `bit` is a Stream::ControlBit.
  void request_control(Stream& stream, std::uint8_t bit);
  void cancel_control(Stream& stream, std::uint8_t bit);
  // Called after a reset of the sending part.
  void on_reset(Stream& stream);
  // Raises the peer's limit of the stream.
  void raise_limit(Stream& stream, std::uint64_t limit);

 private:
  StreamSchedulerKind scheduler_;
  ConnectionLimits& limits_;
  WriteRoom& room_;
  StreamLane any_path_;
  std::vector<std::unique_ptr<StreamLane>> pinned_;  // one for each path with streams of its own
  StreamList<Stream, &Stream::credit_link> credit_waiters_;
};

}  // namespace sheaf::quic
