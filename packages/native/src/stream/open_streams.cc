#include "stream/open_streams.h"

namespace sheaf::quic {

Stream& OpenStreams::create(StreamId id, StreamLane& lane) {
  const bool bidirectional = id.directionality() == Directionality::kBidirectional;
  const bool local = id.initiator() == limits_.role;
  Stream& stream = table_.insert(id);
  ++created_;
  if (bidirectional) ++bidirectional_;
  stream.priority = {};
  stream.expected_bytes = 0;
  stream.counted_unsent = 0;
  stream.turns_taken = 0;
  stream.counted_held = stream.counted_stalled = stream.reserved = 0;
  stream.sends = bidirectional || local;
  stream.receives = bidirectional || !local;
  stream.control_due = 0;
  stream.lost = false;
  stream.write_refused = stream.overfilled = stream.counted_open_ended = false;
  if (stream.sends) stream.send.open(limits_.initial_send_limit(id));
  if (stream.receives) stream.receive.open(blocks_, ReceiveWindow(initial_window_, max_window_));
  lanes_.enter(stream, lane);
  return stream;
}

void OpenStreams::close_if_finished(Stream& stream) {
  if (stream.sends && !stream.send.terminal()) return;
  const bool nothing_comes = stream.lost && stream.receive.nothing_left();
  if (stream.receives && !stream.receive.finished() && !nothing_comes) return;
  events_.push(stream, StreamEvent::Kind::kClosed);
}

void OpenStreams::forget(Stream& stream) {
  const StreamId id = stream.id;
  const bool bidirectional = id.directionality() == Directionality::kBidirectional;
  lanes_.leave(stream);
  room_.forget(stream);
  if (bidirectional) --bidirectional_;
  table_.erase(stream);
  if (id.initiator() == limits_.role) return;
  // Gives back the credit for a stream only now: a peer that opens and closes streams faster than
  // the application notices must not fill our memory.
  limits_.peer_streams(id.directionality()).on_closed();
  if (bidirectional) ++peer_closed_;
  limits_.request_max_streams_if_due(id.directionality());
}

void OpenStreams::refresh_sending() {
  table_.for_each([&](Stream& stream) {
    stream.lane->control_queue.remove(stream);
    if (stream.control_due != 0) lanes_.request_control(stream, 0);
    if (stream.sends) lanes_.refresh(stream);
  });
  lanes_.schedule_credit_waiters();
}

}  // namespace sheaf::quic
