#include "stream/stream_set_state.h"

namespace sheaf::quic {

StreamSet::State::State(Role own_role, const StreamSetConfig& set_config)
    : role(own_role),
      config(set_config),
      connection_receive(config.initial_connection_window, config.max_connection_window),
      announced_max_data(connection_receive.limit()),
      peer_streams{PeerStreamLimit(config.max_bidirectional_streams),
                   PeerStreamLimit(config.max_unidirectional_streams)} {}

// --- life of a stream ---------------------------------------------------------------------------

Stream& StreamSet::State::create(StreamId id) {
  const bool bidirectional = id.directionality() == Directionality::kBidirectional;
  const bool local = id.initiator() == role;
  Stream& stream = streams.insert(id);
  stream.priority = {};
  stream.sends = bidirectional || local;
  stream.receives = bidirectional || !local;
  stream.control_due = 0;
  stream.write_refused = false;
  if (stream.sends) stream.send.open(peer_limits ? peer_limits->for_stream(id, role) : 0);
  if (stream.receives) {
    stream.receive.open(blocks,
                        ReceiveWindow(config.initial_stream_window, config.max_stream_window));
  }
  ++senders(stream.sendability);
  return stream;
}

void StreamSet::State::close_if_finished(Stream& stream) {
  if (stream.sends && !stream.send.terminal()) return;
  if (stream.receives && !stream.receive.finished()) return;
  events.push(stream, StreamEvent::Kind::kClosed);
}

void StreamSet::State::forget(Stream& stream) {
  const StreamId id = stream.id;
  control_queue.remove(stream);
  --senders(stream.sendability);
  streams.erase(stream);
  if (id.initiator() == role) return;
  // Only now: a peer that opens and closes streams faster than the application takes note of it
  // must not fill our memory.
  peer_limit(id).on_closed();
  if (peer_limit(id).extension_due()) control_due |= max_streams_bit(id.directionality());
}

// --- sending ------------------------------------------------------------------------------------

void StreamSet::State::refresh_sending(Stream& stream) {
  const std::uint64_t unsent = stream.send.unsent_bytes();
  total_unsent += unsent - stream.counted_unsent;
  stream.counted_unsent = unsent;
  const bool blocked = unsent > 0 && stream.send.limit().note_blocked();
  if (blocked) request_control(stream, Stream::k_stream_data_blocked);
  const Sendability now_possible =
      permitted(stream.id) ? stream.send.sendability() : Sendability::kNothing;
  if (now_possible == stream.sendability) return;
  --senders(stream.sendability);
  ++senders(now_possible);
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
    scheduler->activate(stream.id, stream.priority);
  } else {
    scheduler->deactivate(stream.id);
  }
}

void StreamSet::State::schedule_credit_waiters() {
  if (connection_send.available() == 0) return;
  while (Stream* stream = credit_waiters.front()) place(*stream);
}

void StreamSet::State::note_connection_blocked() {
  if (senders(Sendability::kNewData) > 0 && connection_send.note_blocked()) {
    control_due |= k_data_blocked;
  }
}

void StreamSet::State::request_control(Stream& stream, std::uint8_t bit) {
  stream.control_due |= bit;
  if (permitted(stream.id)) control_queue.push_back(stream);
}

void StreamSet::State::cancel_control(Stream& stream, std::uint8_t bit) {
  if (stream.control_due == 0) return;
  stream.control_due &= static_cast<std::uint8_t>(~bit);
  if (stream.control_due == 0) control_queue.remove(stream);
}

void StreamSet::State::reset_sending(Stream& stream) {
  cancel_control(stream, Stream::k_stream_data_blocked);
  request_control(stream, Stream::k_reset_stream);
  refresh_sending(stream);
}

// --- receiving ----------------------------------------------------------------------------------

void StreamSet::State::announce_connection_window() {
  if (connection_receive.limit() == announced_max_data) return;
  announced_max_data = connection_receive.limit();
  control_due |= k_max_data;
}

void StreamSet::State::consume(Stream& stream, std::uint64_t bytes) {
  if (!stream.receive.consume(bytes, receive_context())) return;
  request_control(stream, Stream::k_max_stream_data);
  connection_receive.widen(stream.receive.window().window() * 3 / 2);
}

void StreamSet::State::finish_read(Stream& stream, ReadResult& result) {
  result.finished = stream.receive.take_end();
  result.reset = stream.receive.reset_error();
  if (result.reset) stream.receive.on_reset_read();
  announce_connection_window();
  close_if_finished(stream);
}

}  // namespace sheaf::quic
