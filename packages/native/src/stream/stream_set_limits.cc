// What each side lets the other send and open at the start (RFC 9000 §7.4, §18.2), and what a
// rejection of 0-RTT changes about that.

#include "stream/stream_set_state.h"

namespace sheaf::quic {

bool StreamSet::State::PeerLimits::below(const PeerLimits& other) const {
  return data < other.data || stream_opened_here < other.stream_opened_here ||
         stream_opened_there < other.stream_opened_there ||
         stream_unidirectional < other.stream_unidirectional || streams[0] < other.streams[0] ||
         streams[1] < other.streams[1] || reset_stream_at < other.reset_stream_at;
}

std::uint64_t StreamSet::State::PeerLimits::for_stream(StreamId id, Role role) const {
  if (id.directionality() == Directionality::kUnidirectional) return stream_unidirectional;
  return id.initiator() == role ? stream_opened_here : stream_opened_there;
}

void StreamSet::State::raise_local_streams(Directionality directionality, std::uint64_t limit) {
  SendLimit& local = local_streams[index_of(directionality)];
  const bool exhausted = local.available() == 0;
  if (!local.raise(limit)) return;
  control_due &= static_cast<std::uint8_t>(~streams_blocked_bit(directionality));
  if (exhausted && local.available() > 0) events.push_streams_available(directionality);
}

void StreamSet::State::apply_peer_limits(const PeerLimits& limits) {
  peer_limits = limits;
  connection_send.raise(limits.data);
  for (Directionality directionality :
       {Directionality::kBidirectional, Directionality::kUnidirectional}) {
    raise_local_streams(directionality, limits.streams[index_of(directionality)]);
  }
  streams.for_each([&](Stream& stream) {
    if (stream.sends) raise_stream(stream, limits.for_stream(stream.id, role));
  });
  refresh_all();
}

void StreamSet::State::raise_stream(Stream& stream, std::uint64_t limit) {
  if (!stream.send.limit().raise(limit)) return;
  cancel_control(stream, Stream::k_stream_data_blocked);
  refresh_sending(stream);
  room_to_look_for = true;
}

void StreamSet::State::refresh_all() {
  streams.for_each([&](Stream& stream) {
    stream.lane->control_queue.remove(stream);
    if (stream.control_due != 0) request_control(stream, 0);
    if (stream.sends) refresh_sending(stream);
  });
  schedule_credit_waiters();
}

void StreamSet::fill_local_parameters(TransportParameters& parameters) const {
  const StreamSetConfig& config = state_->config;
  parameters.initial_max_data = state_->connection_receive.limit();
  parameters.initial_max_stream_data_bidi_local = config.initial_stream_window;
  parameters.initial_max_stream_data_bidi_remote = config.initial_stream_window;
  parameters.initial_max_stream_data_uni = config.initial_stream_window;
  parameters.initial_max_streams_bidi = state_->peer_streams[0].limit();
  parameters.initial_max_streams_uni = state_->peer_streams[1].limit();
}

TransportStatus StreamSet::set_peer_parameters(const TransportParameters& parameters) {
  State& state = *state_;
  const State::PeerLimits limits{
      .data = parameters.initial_max_data,
      // "Local" and "remote" are the peer's words (RFC 9000 §18.2).
      .stream_opened_here = parameters.initial_max_stream_data_bidi_remote,
      .stream_opened_there = parameters.initial_max_stream_data_bidi_local,
      .stream_unidirectional = parameters.initial_max_stream_data_uni,
      .streams = {parameters.initial_max_streams_bidi, parameters.initial_max_streams_uni},
      .reset_stream_at = parameters.reset_stream_at};
  if (state.peer_limits_void) {
    state.peer_limits_void = false;
    state.connection_send.replace(0);
    for (SendLimit& limit : state.local_streams) limit.replace(0);
    state.streams.for_each([](Stream& stream) {
      if (stream.sends) stream.send.limit().replace(0);
    });
  } else if (state.peer_limits && limits.below(*state.peer_limits)) {
    // RFC 9000 §7.4.1.
    return TransportError{TransportErrorCode::kProtocolViolation, 0,
                          "less is permitted than was remembered for 0-RTT"};
  }
  state.apply_peer_limits(limits);
  return {};
}

void StreamSet::restart_sending() {
  State& state = *state_;
  state.peer_limits_void = true;
  state.connection_send.forget_used();
  state.streams.for_each([&](Stream& stream) {
    if (stream.sends) {
      stream.send.restart();
      if (stream.send.state() == SendStream::State::kResetSent) {
        state.request_control(stream, Stream::k_reset_stream);
      }
      state.refresh_sending(stream);
    }
    if (stream.receives && stream.receive.stop_sending_needed()) {
      state.request_control(stream, Stream::k_stop_sending);
    }
  });
  state.schedule_credit_waiters();
}

}  // namespace sheaf::quic
