// The application's side of a StreamSet.

#include "stream/stream_set.h"

#include <algorithm>

#include "stream/stream_set_state.h"

namespace sheaf::quic {

StreamSet::StreamSet(Role role, const StreamSetConfig& config)
    : state_(std::make_unique<State>(role, config)) {}

StreamSet::~StreamSet() = default;

Result<StreamId, StreamRefusal> StreamSet::open(Directionality directionality) {
  State& state = *state_;
  SendLimit& limit = state.local_streams[State::index_of(directionality)];
  if (limit.available() == 0) {
    // RFC 9000 §4.6.
    if (limit.note_blocked()) state.control_due |= State::streams_blocked_bit(directionality);
    return StreamRefusal::kStreamLimit;
  }
  const StreamId id = StreamId::make(state.role, directionality, limit.used());
  limit.consume(1);
  state.create(id);
  return id;
}

std::uint64_t StreamSet::streams_available(Directionality directionality) const {
  return state_->local_streams[State::index_of(directionality)].available();
}

Result<bool, StreamRefusal> StreamSet::write(StreamId id, SendChunk chunk, bool fin) {
  State& state = *state_;
  Stream* stream = state.streams.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->sends) return StreamRefusal::kWrongDirection;
  if (!stream->send.writable()) return StreamRefusal::kFinished;
  const bool known = stream->scheduled;
  stream->send.write(std::move(chunk), fin);
  stream->reserved = 0;
  state.count_held(*stream);
  stream->overfilled = !state.has_room(*stream);
  if (stream->overfilled && !fin) state.await_room(*stream);
  state.refresh_sending(*stream);
  if (known) stream->lane->schedule(*stream);
  if (state.connection_send.available() == 0) state.note_connection_blocked();
  return !stream->overfilled;
}

Status<StreamRefusal> StreamSet::reset(StreamId id, std::uint64_t error) {
  Stream* stream = state_->streams.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->sends) return StreamRefusal::kWrongDirection;
  const bool permit_reliable = state_->peer_limits && state_->peer_limits->reset_stream_at;
  if (stream->send.reset(error, permit_reliable)) state_->reset_sending(*stream);
  return {};
}

void StreamSet::keep_reliable(StreamId id, std::uint64_t bytes) {
  Stream* stream = state_->streams.find(id);
  if (stream != nullptr && stream->sends) stream->send.keep_reliable(bytes);
}

Status<StreamRefusal> StreamSet::stop_sending(StreamId id, std::uint64_t error) {
  State& state = *state_;
  Stream* stream = state.streams.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->receives) return StreamRefusal::kWrongDirection;
  if (stream->receive.abandon(state.receive_context())) {
    stream->stop_sending_error = error;
    state.request_control(*stream, Stream::k_stop_sending);
  }
  state.cancel_control(*stream, Stream::k_max_stream_data);
  state.announce_connection_window();
  state.close_if_finished(*stream);
  return {};
}

// --- reading ------------------------------------------------------------------------------------

namespace {

std::optional<StreamRefusal> refuse_read(const Stream* stream) {
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->receives) return StreamRefusal::kWrongDirection;
  if (stream->receive.abandoned()) return StreamRefusal::kFinished;
  return std::nullopt;
}

}  // namespace

Result<ReadResult, StreamRefusal> StreamSet::read(StreamId id, MutableBytes out, Time now) {
  State& state = *state_;
  state.now = now;
  Stream* stream = state.streams.find(id);
  if (const auto refusal = refuse_read(stream)) return *refusal;
  ReadResult result;
  result.bytes = stream->receive.copy_to(out);
  if (result.bytes > 0) state.consume(*stream, result.bytes);
  state.finish_read(*stream, result);
  return result;
}

Bytes StreamSet::peek(StreamId id) const {
  const Stream* stream = state_->streams.find(id);
  return refuse_read(stream) ? Bytes() : stream->receive.peek();
}

std::uint64_t StreamSet::readable_bytes(StreamId id) const {
  const Stream* stream = state_->streams.find(id);
  return refuse_read(stream) ? 0 : stream->receive.readable_bytes();
}

Result<ReadResult, StreamRefusal> StreamSet::consume(StreamId id, std::size_t bytes, Time now) {
  State& state = *state_;
  state.now = now;
  Stream* stream = state.streams.find(id);
  if (const auto refusal = refuse_read(stream)) return *refusal;
  ReadResult result;
  result.bytes = std::min<std::uint64_t>(bytes, stream->receive.readable_bytes());
  if (result.bytes > 0) state.consume(*stream, result.bytes);
  state.finish_read(*stream, result);
  return result;
}

// --- the rest -----------------------------------------------------------------------------------

void StreamSet::set_priority(StreamId id, const StreamPriority& priority) {
  Stream* stream = state_->streams.find(id);
  if (stream == nullptr) return;
  const StreamPriority before = stream->priority;
  const bool changes_queue = stream->scheduled && priority.ahead != before.ahead;
  if (changes_queue) stream->lane->unschedule(*stream);
  stream->priority = priority;
  if (priority.dependency.node == Dependency::k_root) {
    stream->priority.dependency = before.dependency;
  }
  stream->lane->scheduler->set_priority(id, stream->priority);
  if (changes_queue) stream->lane->schedule(*stream);
}

void StreamSet::set_dependency(StreamId id, const Dependency& dependency) {
  Stream* stream = state_->streams.find(id);
  if (stream == nullptr) return;
  stream->priority.dependency = dependency;
  stream->lane->scheduler->set_priority(id, stream->priority);
}

void StreamSet::set_group(const Dependency& group) { state_->shared.scheduler->set_group(group); }

void StreamSet::set_expected_bytes(StreamId id, std::uint64_t total) {
  Stream* stream = state_->streams.find(id);
  if (stream == nullptr || !stream->sends) return;
  stream->expected_bytes = total;
  if (stream->scheduled) stream->lane->schedule(*stream);
}

Status<StreamRefusal> StreamSet::pin(StreamId id, PathId path, bool apart) {
  State& state = *state_;
  Stream* stream = state.streams.find(id);
  if (stream == nullptr || stream->lost) return StreamRefusal::kUnknownStream;
  if (stream->lane->path == path) return {};
  // The server that knows the stream keeps it.
  const bool touched = id.initiator() != state.role || stream->send.final_size() > 0;
  if (stream->lane->apart || (apart && touched)) return StreamRefusal::kElsewhere;
  StreamLane& lane = state.make_pinned_lane(path, apart);
  state.move(*stream, lane);
  if (apart && id.directionality() == Directionality::kBidirectional) ++lane.use.streams;
  return {};
}

bool StreamSet::pinned(StreamId id) const {
  if (state_->pinned.empty()) return false;
  const Stream* stream = state_->streams.find(id);
  return stream != nullptr && stream->lane != &state_->shared;
}

bool StreamSet::apart(StreamId id) const {
  const Stream* stream = state_->pinned.empty() ? nullptr : state_->streams.find(id);
  return stream != nullptr && stream->lane->apart;
}

void StreamSet::unpin_all(PathId path) {
  State& state = *state_;
  const StreamLane* lane = state.pinned_lane(path);
  if (!lane) return;
  state.streams.for_each([&](Stream& stream) {
    if (stream.lane == lane) state.move(stream, state.shared);
  });
  std::erase_if(state.pinned, [&](const auto& other) { return other.get() == lane; });
}

std::uint64_t StreamSet::unsent_bytes(StreamId id) const {
  const Stream* stream = state_->streams.find(id);
  return stream != nullptr && stream->sends ? stream->send.unsent_bytes() : 0;
}

void StreamSet::set_rtt(Duration smoothed) { state_->rtt = smoothed; }

std::optional<StreamEvent> StreamSet::poll_event() {
  using Kind = StreamEvent::Kind;
  State& state = *state_;
  if (state.room_to_look_for) state.wake_writers();
  while (!state.events.empty()) {
    const EventQueue::Entry entry = state.events.pop();
    if (entry.kind == Kind::kStreamsAvailable) {
      return StreamEvent{entry.kind, StreamId::make(state.role, entry.directionality, 0)};
    }
    Stream& stream = *entry.stream;
    StreamEvent event{entry.kind, stream.id};
    switch (entry.kind) {
      case Kind::kReadable:
        if (!stream.receive.readable()) continue;  // read in the meantime
        break;
      case Kind::kWritable:
        if (!stream.send.writable()) continue;
        break;
      case Kind::kAcknowledged:
        if (stream.send.was_reset()) continue;
        event.value = stream.send.acknowledged();
        break;
      case Kind::kStopSending:
        event.value = stream.send.reset_error();
        break;
      case Kind::kReset:
        // RFC 9000 §3.2: told about it, the application has read the reset.
        event.value = *stream.receive.reset_error();
        stream.receive.on_reset_read();
        state.close_if_finished(stream);
        break;
      case Kind::kLost:
        event.value = stream.receives ? stream.receive.in_order_end() : 0;
        state.close_if_finished(stream);
        break;
      case Kind::kClosed:
        if (stream.lost && stream.receives) {
          stream.receive.abandon(state.receive_context());
          state.announce_connection_window();
        }
        state.forget(stream);
        break;
      case Kind::kOpened:
      case Kind::kStreamsAvailable:
        break;
    }
    return event;
  }
  return std::nullopt;
}

bool StreamSet::unread() const {
  bool found = false;
  state_->streams.for_each(
      [&](const Stream& stream) { found |= stream.receives && stream.receive.readable(); });
  return found;
}

std::size_t StreamSet::open_streams() const { return state_->streams.size(); }

std::size_t StreamSet::open_bidirectional_streams() const { return state_->open_bidirectional; }

void StreamSet::trim_memory() { state_->blocks.trim(); }

std::uint64_t StreamSet::streams_total() const { return state_->created; }

}  // namespace sheaf::quic
