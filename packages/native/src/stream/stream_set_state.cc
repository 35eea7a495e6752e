#include "stream/stream_set_state.h"

#include <algorithm>

namespace sheaf::quic {

StreamSet::State::State(Role own_role, const StreamSetConfig& set_config)
    : role(own_role),
      config(set_config),
      shared(std::nullopt, config.scheduler),
      budget(config.memory),
      connection_receive(std::min(config.initial_connection_window, budget.max_receive_window()),
                         std::min(config.max_connection_window, budget.max_receive_window())),
      announced_max_data(connection_receive.limit()),
      peer_streams{PeerStreamLimit(config.max_bidirectional_streams),
                   PeerStreamLimit(config.max_unidirectional_streams)} {
  connection_receive.serve_streams();
}

// --- life of a stream ---------------------------------------------------------------------------

Stream& StreamSet::State::create(StreamId id) {
  const bool bidirectional = id.directionality() == Directionality::kBidirectional;
  const bool local = id.initiator() == role;
  Stream& stream = streams.insert(id);
  ++created;
  if (bidirectional) ++open_bidirectional;
  stream.priority = {};
  stream.expected_bytes = 0;
  stream.counted_unsent = 0;
  stream.counted_held = stream.counted_stalled = stream.reserved = 0;
  stream.sends = bidirectional || local;
  stream.receives = bidirectional || !local;
  stream.control_due = 0;
  stream.lost = false;
  stream.write_refused = stream.overfilled = stream.counted_open_ended = false;
  if (stream.sends) stream.send.open(peer_limits ? peer_limits->for_stream(id, role) : 0);
  if (stream.receives) {
    stream.receive.open(blocks,
                        ReceiveWindow(config.initial_stream_window, config.max_stream_window));
  }
  enter(stream, arrival ? make_pinned_lane(*arrival, true) : shared);
  return stream;
}

StreamLane& StreamSet::State::make_pinned_lane(PathId path, bool apart) {
  if (StreamLane* known = pinned_lane(path)) return *known;
  return *pinned.emplace_back(std::make_unique<StreamLane>(path, config.scheduler, apart));
}

StreamLane* StreamSet::State::pinned_lane(PathId path) const {
  const auto found = std::ranges::find(pinned, path, [](const auto& lane) { return lane->path; });
  return found == pinned.end() ? nullptr : found->get();
}

void StreamSet::State::enter(Stream& stream, StreamLane& lane) {
  stream.lane = &lane;
  ++lane.senders(stream.sendability);
  lane.unsent += stream.counted_unsent;
  lane.open_ended += stream.counted_open_ended;
}

void StreamSet::State::leave(Stream& stream) {
  StreamLane& lane = *stream.lane;
  lane.control_queue.remove(stream);
  lane.ahead.remove(stream);
  lane.scheduler->forget(stream.id);
  --lane.senders(stream.sendability);
  lane.unsent -= stream.counted_unsent;
  lane.open_ended -= stream.counted_open_ended;
}

void StreamSet::State::move(Stream& stream, StreamLane& lane) {
  leave(stream);
  enter(stream, lane);
  if (stream.control_due != 0) request_control(stream, 0);
  if (stream.priority != StreamPriority{}) lane.scheduler->set_priority(stream.id, stream.priority);
  if (stream.scheduled) lane.schedule(stream);
}

void StreamSet::State::close_if_finished(Stream& stream) {
  if (stream.sends && !stream.send.terminal()) return;
  const bool nothing_comes = stream.lost && stream.receive.nothing_left();
  if (stream.receives && !stream.receive.finished() && !nothing_comes) return;
  events.push(stream, StreamEvent::Kind::kClosed);
}

void StreamSet::State::forget(Stream& stream) {
  const StreamId id = stream.id;
  leave(stream);
  budget.release(stream.counted_held);
  budget.unstall(stream.counted_stalled);
  room_waiters.remove(stream);
  room_to_look_for = true;
  if (id.directionality() == Directionality::kBidirectional) --open_bidirectional;
  streams.erase(stream);
  if (id.initiator() == role) return;
  // Only now: a peer that opens and closes streams faster than the application takes note of it
  // must not fill our memory.
  peer_limit(id).on_closed();
  if (id.directionality() == Directionality::kBidirectional) ++peer_bidirectional_closed;
  if (peer_limit(id).extension_due()) control_due |= max_streams_bit(id.directionality());
}

// --- sending ------------------------------------------------------------------------------------

void StreamSet::State::refresh_sending(Stream& stream) {
  count_held(stream);
  const std::uint64_t unsent = stream.send.unsent_bytes();
  stream.lane->unsent += unsent - stream.counted_unsent;
  stream.counted_unsent = unsent;
  stream.lane->open_ended -= stream.counted_open_ended;
  stream.counted_open_ended = stream.overfilled && unsent > 0 && stream.send.writable();
  stream.lane->open_ended += stream.counted_open_ended;
  const bool blocked = unsent > 0 && stream.send.limit().note_blocked();
  if (blocked) request_control(stream, Stream::k_stream_data_blocked);
  const Sendability now_possible =
      permitted(stream.id) ? stream.send.sendability() : Sendability::kNothing;
  if (now_possible == stream.sendability) return;
  --stream.lane->senders(stream.sendability);
  ++stream.lane->senders(now_possible);
  stream.sendability = now_possible;
  place(stream);
}

void StreamSet::State::place(Stream& stream) {
  const bool waits =
      stream.sendability == Sendability::kNewData && connection_send.available() == 0;
  if (waits) {
    credit_waiters.push_back(stream);
  } else {
    credit_waiters.remove(stream);
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

void StreamSet::State::schedule_credit_waiters() {
  if (connection_send.available() == 0) return;
  while (Stream* stream = credit_waiters.front()) place(*stream);
}

bool StreamSet::State::wants_credit() const {
  return shared.senders(Sendability::kNewData) > 0 ||
         std::ranges::any_of(
             pinned, [](const auto& lane) { return lane->senders(Sendability::kNewData) > 0; });
}

void StreamSet::State::note_connection_blocked() {
  if (wants_credit() && connection_send.note_blocked()) control_due |= k_data_blocked;
}

void StreamSet::State::request_control(Stream& stream, std::uint8_t bit) {
  if (stream.lost) return;
  stream.control_due |= bit;
  if (permitted(stream.id)) stream.lane->control_queue.push_back(stream);
}

void StreamSet::State::cancel_control(Stream& stream, std::uint8_t bit) {
  if (stream.control_due == 0) return;
  stream.control_due &= static_cast<std::uint8_t>(~bit);
  if (stream.control_due == 0) stream.lane->control_queue.remove(stream);
}

void StreamSet::State::reset_sending(Stream& stream) {
  // What it leaves reliable goes first: the final size is not below that.
  if (stream.send.unsent_bytes() == 0) {
    cancel_control(stream, Stream::k_stream_data_blocked);
    request_control(stream, Stream::k_reset_stream);
  }
  stream.reserved = 0;
  room_waiters.remove(stream);
  room_to_look_for = true;
  refresh_sending(stream);
}

// --- receiving ----------------------------------------------------------------------------------

void StreamSet::State::announce_connection_window() {
  if (connection_receive.limit() == announced_max_data) return;
  announced_max_data = connection_receive.limit();
  control_due |= k_max_data;
}

void StreamSet::State::consume(Stream& stream, std::uint64_t bytes) {
  if (stream.receive.consume(bytes, receive_context())) announce_stream_window(stream);
  if (stream.receive.reset_error()) tell_reset(stream);
}

void StreamSet::State::tell_reset(Stream& stream) {
  announce_connection_window();
  cancel_control(stream, Stream::k_max_stream_data | Stream::k_stop_sending);
  events.push(stream, StreamEvent::Kind::kReadable);
  events.push(stream, StreamEvent::Kind::kReset);
  close_if_finished(stream);
}

void StreamSet::State::widen_over_gap(Stream& stream) {
  if (!stream.receive.widen_over_gap(now)) return;
  announce_stream_window(stream);
  // Nothing is consumed that would move it.
  connection_receive.announce();
  announce_connection_window();
}

void StreamSet::State::announce_stream_window(Stream& stream) {
  request_control(stream, Stream::k_max_stream_data);
  connection_receive.widen(stream.receive.window().window() * 3 / 2);
}

void StreamSet::State::finish_read(Stream& stream, ReadResult& result) {
  result.finished = stream.receive.take_backend();
  if (result.bytes == 0) result.reset = stream.receive.reset_error();
  if (result.reset) stream.receive.on_reset_read();
  announce_connection_window();
  close_if_finished(stream);
}

}  // namespace sheaf::quic
