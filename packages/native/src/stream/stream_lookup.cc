#include "stream/stream_lookup.h"

#include "wire/violation.h"

namespace sheaf::quic {

namespace {

std::size_t index_of(Directionality directionality) {
  return static_cast<std::size_t>(directionality);
}

}  // namespace

StreamLookup::Found StreamLookup::find_receiving(StreamId id, FrameType type) {
  Stream* stream = open_.find(id);
  if (stream != nullptr && stream->receives && !shared_) return stream;
  if (id.directionality() == Directionality::kUnidirectional && id.initiator() == limits_.role) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream is send-only");
  }
  return find_or_open(id, type);
}

StreamLookup::Found StreamLookup::find_sending(StreamId id, FrameType type) {
  if (id.directionality() == Directionality::kUnidirectional && id.initiator() != limits_.role) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream is receive-only");
  }
  return find_or_open(id, type);
}

StreamLookup::Found StreamLookup::find_or_open(StreamId id, FrameType type) {
  if (id.initiator() == limits_.role) return find_local(id, type);
  return shared_ ? open_alone(id, type) : open_in_order(id, type);
}

StreamLookup::Found StreamLookup::find_local(StreamId id, FrameType type) {
  // RFC 9000 §19.4 to §19.13: a frame must not name a stream that this side has not opened yet.
  if (id.index() >= limits_.local_streams(id.directionality()).used()) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream is not open yet");
  }
  Stream* stream = open_.find(id);
  if (shared_ && stream != nullptr && !at_arrival(*stream)) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream of another server");
  }
  return stream;
}

StreamLookup::Found StreamLookup::open_in_order(StreamId id, FrameType type) {
  PeerStreamLimit& limit = limits_.peer_streams(id.directionality());
  if (id.index() < limit.opened()) return open_.find(id);
  if (!limit.allows(id.index())) {
    return violation(TransportErrorCode::kStreamLimitError, type, "stream limit exceeded");
  }
  // RFC 9000 §3.2: opening a stream opens all lower-numbered streams of its type.
  while (limit.opened() <= id.index()) {
    open(StreamId::make(id.initiator(), id.directionality(), limit.opened()));
  }
  limits_.request_max_streams_if_due(id.directionality());
  return open_.find(id);
}

// Opens one stream alone, since other servers may have the streams between
// (docs/internals/multi-end.md). At most `k_max_intervals` intervals of opened indices are
// remembered. Beyond that, the oldest gap counts as opened.
StreamLookup::Found StreamLookup::open_alone(StreamId id, FrameType type) {
  constexpr std::size_t k_max_intervals = 1024;
  IntervalSet& opened = peer_opened_[index_of(id.directionality())];
  Stream* known = open_.find(id);
  if (known != nullptr && !at_arrival(*known)) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream of another server");
  }
  if (known != nullptr || opened.contains(id.index())) return known;
  const PeerStreamLimit& limit = limits_.peer_streams(id.directionality());
  // A backend does not know the limit, which moves as streams close anywhere. It only checks that
  // no more streams are open here than may be open on all servers together.
  const bool allowed = !limit.full() && (limits_.leased || limit.allows(id.index()));
  if (!allowed) {
    return violation(TransportErrorCode::kStreamLimitError, type, "stream limit exceeded");
  }
  opened.insert(id.index());
  if (opened.size() > k_max_intervals) opened.insert(opened[0].end, opened[1].start);
  Stream& stream = open(id);
  limits_.request_max_streams_if_due(id.directionality());
  return &stream;
}

Stream& StreamLookup::open(StreamId id) {
  StreamLane& lane = arrival_ ? lanes_.make_pinned(*arrival_, true) : lanes_.any_path();
  Stream& stream = open_.create(id, lane);
  limits_.peer_streams(id.directionality()).on_opened();
  events_.push(stream, StreamEvent::Kind::kOpened);
  return stream;
}

void StreamLookup::share() {
  if (shared_) return;
  shared_ = true;
  if (limits_.role == Role::kServer) limits_.receive.share();
  // 0-RTT may have opened streams in order before.
  for (const Directionality kind :
       {Directionality::kBidirectional, Directionality::kUnidirectional}) {
    peer_opened_[index_of(kind)].insert(0, limits_.peer_streams(kind).opened());
  }
}

}  // namespace sheaf::quic
