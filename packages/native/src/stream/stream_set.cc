#include "stream/stream_set.h"

#include <vector>

#include "stream/stream_parts.h"

namespace sheaf::quic {

StreamSet::StreamSet(Role role, const StreamSetConfig& config)
    : parts_(std::make_unique<StreamParts>(role, config)),
      writer_(*parts_),
      reader_(*parts_),
      memory_(*parts_),
      incoming_(*parts_),
      outgoing_(*parts_),
      pinned_(*parts_),
      remote_(*parts_, outgoing_),
      shared_limits_(*parts_),
      leased_limits_(*parts_) {}

StreamSet::~StreamSet() = default;

// --- events ----------------------------------------------------------------------------------

std::optional<StreamEvent> StreamSet::poll_event() {
  parts_->room.wake_waiting();
  while (!parts_->events.empty()) {
    const EventQueue::Entry entry = parts_->events.pop();
    if (entry.kind == StreamEvent::Kind::kStreamsAvailable) {
      return StreamEvent{entry.kind, StreamId::make(parts_->limits.role, entry.directionality, 0)};
    }
    const StreamId id = entry.stream->id;
    if (const auto value = take(entry.kind, *entry.stream)) {
      return StreamEvent{entry.kind, id, *value};
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> StreamSet::take(StreamEvent::Kind kind, Stream& stream) {
  using Kind = StreamEvent::Kind;
  std::uint64_t value = 0;
  switch (kind) {
    case Kind::kReadable:
      if (!stream.receive.readable()) return std::nullopt;  // read in the meantime
      break;
    case Kind::kWritable:
      // Bytes of another node may be replaced here, also when their end is written.
      if (stream.send.was_reset() ||
          (!stream.send.writable() && stream.send.elsewhere().sender == 0)) {
        return std::nullopt;
      }
      break;
    case Kind::kAcknowledged:
      if (stream.send.was_reset()) return std::nullopt;
      return stream.send.buffer().acknowledged();
    case Kind::kStopSending:
      return stream.send.reset_fields().error;
    case Kind::kReset:
      // RFC 9000 §3.2: with this event the application has read the reset.
      value = *stream.receive.reset_error();
      stream.receive.on_reset_read();
      parts_->open.close_if_finished(stream);
      break;
    case Kind::kLost:
      value = stream.receives ? stream.receive.in_order_end() : 0;
      parts_->open.close_if_finished(stream);
      break;
    case Kind::kClosed:
      if (stream.lost && stream.receives) {
        stream.receive.abandon(parts_->limits.receive_context());
        parts_->limits.announce_receive_window();
      }
      parts_->open.forget(stream);
      break;
    case Kind::kOpened:
    case Kind::kStreamsAvailable:
      break;
  }
  return value;
}

// --- limits ----------------------------------------------------------------------------------

void StreamSet::share() { parts_->lookup.share(); }

void StreamSet::fill_local_parameters(TransportParameters& parameters) const {
  parts_->limits.fill(parameters);
  const std::uint64_t window = parts_->config.initial_stream_window;
  parameters.initial_max_stream_data_bidi_local = window;
  parameters.initial_max_stream_data_bidi_remote = window;
  parameters.initial_max_stream_data_uni = window;
}

TransportStatus StreamSet::set_peer_parameters(const TransportParameters& parameters) {
  const PeerLimits limits(parameters);
  std::optional<PeerLimits>& known = parts_->limits.peer;
  if (peer_limits_void_) {
    peer_limits_void_ = false;
    parts_->limits.clear_peer_limits();
    parts_->open.for_each([](Stream& stream) {
      if (stream.sends) stream.send.limit().replace(0);
    });
  } else if (known && limits.below(*known)) {
    // RFC 9000 §7.4.1: no limit may be below the one remembered for 0-RTT.
    return TransportError{TransportErrorCode::kProtocolViolation, 0,
                          "a limit is below the one remembered for 0-RTT"};
  }
  known = limits;
  apply_peer_limits();
  return {};
}

void StreamSet::apply_peer_limits() {
  ConnectionLimits& limits = parts_->limits;
  limits.send.raise(limits.peer->data);
  for (const Directionality directionality :
       {Directionality::kBidirectional, Directionality::kUnidirectional}) {
    limits.raise_local_streams(directionality,
                               limits.peer->streams[static_cast<std::size_t>(directionality)]);
  }
  parts_->open.for_each([&](Stream& stream) {
    if (stream.sends) parts_->lanes.raise_limit(stream, limits.initial_send_limit(stream.id));
  });
  parts_->open.refresh_sending();
}

void StreamSet::restart_sending() {
  peer_limits_void_ = true;
  parts_->limits.send.forget_used();
  parts_->open.for_each([&](Stream& stream) {
    if (stream.sends) {
      stream.send.restart();
      if (stream.send.state() == SendStream::State::kResetSent) {
        parts_->lanes.request_control(stream, Stream::k_reset_stream);
      }
      parts_->lanes.refresh(stream);
    }
    if (stream.receives && stream.receive.stop_sending_needed()) {
      parts_->lanes.request_control(stream, Stream::k_stop_sending);
    }
  });
  parts_->lanes.schedule_credit_waiters();
}

void StreamSet::set_rtt(Duration smoothed) { parts_->limits.rtt = smoothed; }

// --- life ------------------------------------------------------------------------------------

std::size_t StreamSet::open_streams() const { return parts_->open.size(); }

std::size_t StreamSet::open_bidirectional_streams() const { return parts_->open.bidirectional(); }

std::uint64_t StreamSet::streams_total() const { return parts_->open.created(); }

void StreamSet::drop() {
  std::vector<StreamId> all;
  all.reserve(parts_->open.size());
  parts_->open.for_each([&](const Stream& stream) { all.push_back(stream.id); });
  for (const StreamId id : all) {
    static_cast<void>(writer_.reset(id, 0));
    static_cast<void>(reader_.stop_sending(id, 0));
  }
  parts_->open.trim();
}

}  // namespace sheaf::quic
