#include "http3/peer_streams.h"

#include <algorithm>
#include <utility>

#include "http3/frame_type.h"

namespace sheaf::http3 {

void PeerStreams::read(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  while (!parts_.closed && stream.kind == Stream::Kind::kUnknown) {
    const Bytes bytes = parts_.transport.peek(id);
    const std::size_t used = stream.type.append(bytes);
    if (stream.type.complete()) identify(id, stream);
    const auto result = parts_.transport.consume(id, used, parts_.now);
    if (!result || result->reset) return;
    if (result->finished) {
      if (stream.critical())
        parts_.fail({ErrorCode::kClosedCriticalStream, "critical stream ended"});
      return;
    }
    if (bytes.empty()) return;
  }
  if (parts_.closed) return;
  switch (stream.kind) {
    case Stream::Kind::kUnknown:
      return;
    case Stream::Kind::kControl:
      return read_control(id);
    case Stream::Kind::kQpack:
      return read_qpack(id);
    case Stream::Kind::kWebTransport:
      return read_webtransport_prefix(id, stream);
    case Stream::Kind::kIgnored:
      return parts_.discard(id);
  }
}

void PeerStreams::identify(StreamId id, Stream& stream) {
  const std::uint64_t type = stream.type.value();
  switch (type) {
    case k_stream_control:
    case k_stream_qpack_encoder:
    case k_stream_qpack_decoder: {
      if (std::exchange(critical_seen_[type], true)) {
        return parts_.fail({ErrorCode::kStreamCreationError, "second critical stream of its kind"});
      }
      const bool control = type == k_stream_control;
      stream.kind = control ? Stream::Kind::kControl : Stream::Kind::kQpack;
      if (control) return;
      // nghttp3 must also see the stream's type.
      if (auto used = parts_.framing.read(id, stream.type.raw(), false); !used)
        parts_.fail(used.error());
      return;
    }
    case k_stream_push:
      // RFC 9114 §6.2.2, §4.6: a client never pushes, and Sheaf's client never permits a push.
      return parts_.fail(
          parts_.transport.role() == Role::kServer
              ? ConnectionError{ErrorCode::kStreamCreationError, "push from a client"}
              : ConnectionError{ErrorCode::kIdError, "push that was not allowed"});
    case k_stream_webtransport:
      if (parts_.config.webtransport) {
        stream.kind = Stream::Kind::kWebTransport;
        return;
      }
      break;
    default:
      break;
  }
  stream.kind = Stream::Kind::kIgnored;
  parts_.transport.stop_sending(id, value_of(ErrorCode::kStreamCreationError));
}

void PeerStreams::read_control(StreamId id) {
  while (!parts_.closed) {
    // Copies the bytes, because a frame may cause a call to the transport while its bytes are being
    // read.
    std::array<std::uint8_t, 512> copy;
    const Bytes bytes = parts_.transport.peek(id);
    const std::size_t size = std::min(bytes.size(), copy.size());
    std::copy_n(bytes.begin(), size, copy.begin());
    const auto result = parts_.transport.consume(id, size, parts_.now);
    if (!result || result->reset) return;
    if (auto status = control_reader_.read(Bytes(copy).first(size)); !status) {
      return parts_.fail(status.error());
    }
    if (result->finished)
      return parts_.fail({ErrorCode::kClosedCriticalStream, "control stream ended"});
    if (size == 0) return;
  }
}

void PeerStreams::read_qpack(StreamId id) {
  while (!parts_.closed) {
    const Bytes bytes = parts_.transport.peek(id);
    const std::size_t size = bytes.size();
    if (size > 0) {
      if (auto used = parts_.framing.read(id, bytes, false); !used)
        return parts_.fail(used.error());
    }
    const auto result = parts_.transport.consume(id, size, parts_.now);
    requests_.after_framing_read();
    if (!result || result->reset || parts_.closed) return;
    if (result->finished)
      return parts_.fail({ErrorCode::kClosedCriticalStream, "QPACK stream ended"});
    if (size == 0) return;
  }
}

void PeerStreams::read_webtransport_prefix(StreamId id, Stream& stream) {
  const auto answer = parts_.admission.admit(id, stream.place);
  if (answer == RequestAdmission::Answer::kReject) {
    stream.kind = Stream::Kind::kIgnored;
    parts_.transport.stop_sending(id, value_of(ErrorCode::kRequestRejected));
    return parts_.discard(id);
  }
  if (answer == RequestAdmission::Answer::kWait) return;
  while (true) {
    const Bytes bytes = parts_.transport.peek(id);
    const std::size_t used = stream.session.append(bytes);
    const auto result = parts_.transport.consume(id, used, parts_.now);
    if (!result || result->reset) return;
    if (stream.session.complete()) {
      const StreamId session{stream.session.value()};
      streams_.erase(id);
      return parts_.hand_over(id, session, result->finished);
    }
    if (result->finished || bytes.empty()) return;
  }
}

bool PeerStreams::on_reset(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return false;
  if (found->second.critical()) {
    parts_.fail({ErrorCode::kClosedCriticalStream, "critical stream was reset"});
  }
  return true;
}

bool PeerStreams::on_closed(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return false;
  parts_.admission.leave(found->second.place);
  streams_.erase(found);
  return true;
}

std::optional<StreamId> PeerStreams::control() const {
  for (const auto& [id, stream] : streams_) {
    if (stream.kind == Stream::Kind::kControl) return id;
  }
  return std::nullopt;
}

}  // namespace sheaf::http3
