#include "stream/stream_lanes.h"

#include <algorithm>

namespace sheaf::quic {

StreamLane& StreamLanes::make_pinned(PathId path, bool apart) {
  if (StreamLane* known = pinned_to(path)) return *known;
  return *pinned_.emplace_back(std::make_unique<StreamLane>(path, scheduler_, apart));
}

StreamLane* StreamLanes::pinned_to(PathId path) const {
  const auto found = std::ranges::find(pinned_, path, [](const auto& lane) { return lane->path; });
  return found == pinned_.end() ? nullptr : found->get();
}

void StreamLanes::erase(const StreamLane& lane) {
  std::erase_if(pinned_, [&](const auto& other) { return other.get() == &lane; });
}

void StreamLanes::enter(Stream& stream, StreamLane& lane) {
  stream.lane = &lane;
  ++lane.senders(stream.sendability);
  lane.unsent += stream.counted_unsent;
  lane.open_ended += stream.counted_open_ended;
}

void StreamLanes::leave(Stream& stream) {
  StreamLane& lane = *stream.lane;
  lane.control_queue.remove(stream);
  lane.ahead.remove(stream);
  lane.scheduler->forget(stream.id);
  --lane.senders(stream.sendability);
  lane.unsent -= stream.counted_unsent;
  lane.open_ended -= stream.counted_open_ended;
}

void StreamLanes::move(Stream& stream, StreamLane& lane) {
  leave(stream);
  enter(stream, lane);
  if (stream.control_due != 0) request_control(stream, 0);
  if (stream.priority != StreamPriority{}) lane.scheduler->set_priority(stream.id, stream.priority);
  if (stream.scheduled) lane.schedule(stream);
}

void StreamLanes::refresh(Stream& stream) {
  room_.count(stream);
  const std::uint64_t unsent = stream.send.unsent_bytes();
  stream.lane->unsent += unsent - stream.counted_unsent;
  stream.counted_unsent = unsent;
  stream.lane->open_ended -= stream.counted_open_ended;
  stream.counted_open_ended = stream.overfilled && unsent > 0 && stream.send.writable();
  stream.lane->open_ended += stream.counted_open_ended;
  const bool blocked = unsent > 0 && stream.send.limit().note_blocked();
  if (blocked) request_control(stream, Stream::k_stream_data_blocked);
  const Sendability now_possible =
      limits_.permits(stream.id) ? stream.send.sendability() : Sendability::kNothing;
  if (now_possible == stream.sendability) return;
  --stream.lane->senders(stream.sendability);
  ++stream.lane->senders(now_possible);
  stream.sendability = now_possible;
  place(stream);
}

void StreamLanes::place(Stream& stream) {
  const bool waits = stream.sendability == Sendability::kNewData && limits_.send.available() == 0;
  if (waits) {
    credit_waiters_.push_back(stream);
  } else {
    credit_waiters_.remove(stream);
  }
  const bool scheduled = stream.sendability != Sendability::kNothing && !waits;
  if (scheduled == stream.scheduled) return;
  stream.scheduled = scheduled;
  if (scheduled) {
    stream.lane->schedule(stream);
  } else {
    stream.lane->unschedule(stream);
  }
}

void StreamLanes::schedule_credit_waiters() {
  if (limits_.send.available() == 0) return;
  while (Stream* stream = credit_waiters_.front()) place(*stream);
}

bool StreamLanes::wants_credit() const {
  return any_path_.senders(Sendability::kNewData) > 0 ||
         std::ranges::any_of(
             pinned_, [](const auto& lane) { return lane->senders(Sendability::kNewData) > 0; });
}

void StreamLanes::request_control(Stream& stream, std::uint8_t bit) {
  if (stream.lost) return;
  stream.control_due |= bit;
  if (limits_.permits(stream.id)) stream.lane->control_queue.push_back(stream);
}

void StreamLanes::cancel_control(Stream& stream, std::uint8_t bit) {
  if (stream.control_due == 0) return;
  stream.control_due &= static_cast<std::uint8_t>(~bit);
  if (stream.control_due == 0) stream.lane->control_queue.remove(stream);
}

void StreamLanes::on_reset(Stream& stream) {
  // The reliable part goes first, since the final size must not be below its end.
  if (stream.send.unsent_bytes() == 0) {
    cancel_control(stream, Stream::k_stream_data_blocked);
    request_control(stream, Stream::k_reset_stream);
  }
  stream.reserved = 0;
  room_.leave(stream);
  refresh(stream);
}

void StreamLanes::raise_limit(Stream& stream, std::uint64_t limit) {
  if (!stream.send.limit().raise(limit)) return;
  cancel_control(stream, Stream::k_stream_data_blocked);
  refresh(stream);
  room_.on_change();
}

}  // namespace sheaf::quic
