#include <algorithm>

#include "http3/frame_type.h"
#include "http3/session.h"

// The peer's unidirectional streams: control, QPACK, WebTransport, and what we do not know.

namespace sheaf::http3 {
namespace {

// Priorities kept for requests that have not come yet: enough for a page's worth.
constexpr std::size_t k_max_early_priorities = 256;

}  // namespace

void Session::read_peer_stream(StreamId id, PeerStream& stream) {
  while (!closed_ && stream.kind == PeerStream::Kind::kUnknown) {
    const Bytes bytes = transport_.peek(id);
    const std::size_t used = stream.type.append(bytes);
    if (stream.type.complete()) identify(id, stream);
    const auto result = transport_.consume(id, used, now_);
    if (!result || result->reset) return;
    if (result->finished) {
      const bool critical =
          stream.kind == PeerStream::Kind::kControl || stream.kind == PeerStream::Kind::kQpack;
      if (critical) fail({ErrorCode::kClosedCriticalStream, "critical stream ended"});
      return;
    }
    if (bytes.empty()) return;
  }
  if (closed_) return;
  switch (stream.kind) {
    case PeerStream::Kind::kUnknown:
      return;
    case PeerStream::Kind::kControl:
      return read_control(id);
    case PeerStream::Kind::kQpack:
      return read_qpack(id);
    case PeerStream::Kind::kWebTransport:
      return read_webtransport_prefix(id, stream);
    case PeerStream::Kind::kIgnored:
      return discard(id);
  }
}

void Session::identify(StreamId id, PeerStream& stream) {
  const std::uint64_t type = stream.type.value();
  switch (type) {
    case k_stream_control:
    case k_stream_qpack_encoder:
    case k_stream_qpack_decoder: {
      if (std::exchange(critical_seen_[type], true)) {
        return fail({ErrorCode::kStreamCreationError, "second critical stream of its kind"});
      }
      const bool control = type == k_stream_control;
      stream.kind = control ? PeerStream::Kind::kControl : PeerStream::Kind::kQpack;
      if (control) return;
      // nghttp3 wants to see the stream's type itself.
      if (auto used = framing_.read(id, stream.type.raw(), false); !used) fail(used.error());
      return;
    }
    case k_stream_push:
      // RFC 9114 §6.2.2, §4.6: a client never pushes, and we never allow a server to.
      return fail(transport_.role() == Role::kServer
                      ? ConnectionError{ErrorCode::kStreamCreationError, "push from a client"}
                      : ConnectionError{ErrorCode::kIdError, "push that was not allowed"});
    case k_stream_webtransport:
      if (config_.webtransport) {
        stream.kind = PeerStream::Kind::kWebTransport;
        return;
      }
      break;
    default:
      break;
  }
  stream.kind = PeerStream::Kind::kIgnored;
  transport_.stop_sending(id, value_of(ErrorCode::kStreamCreationError));
}

void Session::read_control(StreamId id) {
  while (!closed_) {
    // A copy, as what a frame says may call the transport while its bytes are being read.
    std::array<std::uint8_t, 512> copy;
    const Bytes bytes = transport_.peek(id);
    const std::size_t size = std::min(bytes.size(), copy.size());
    std::copy_n(bytes.begin(), size, copy.begin());
    const auto result = transport_.consume(id, size, now_);
    if (!result || result->reset) return;
    if (auto status = control_reader_.read(Bytes(copy).first(size)); !status) {
      return fail(status.error());
    }
    if (result->finished) return fail({ErrorCode::kClosedCriticalStream, "control stream ended"});
    if (size == 0) return;
  }
}

void Session::read_qpack(StreamId id) {
  while (!closed_) {
    const Bytes bytes = transport_.peek(id);
    const std::size_t size = bytes.size();
    if (size > 0) {
      if (auto used = framing_.read(id, bytes, false); !used) return fail(used.error());
    }
    const auto result = transport_.consume(id, size, now_);
    after_framing_read();
    if (!result || result->reset || closed_) return;
    if (result->finished) return fail({ErrorCode::kClosedCriticalStream, "QPACK stream ended"});
    if (size == 0) return;
  }
}

void Session::read_webtransport_prefix(StreamId id, PeerStream& stream) {
  const auto answer = admission_.admit(id, stream.place);
  if (answer == RequestAdmission::Answer::kReject) {
    stream.kind = PeerStream::Kind::kIgnored;
    transport_.stop_sending(id, value_of(ErrorCode::kRequestRejected));
    return discard(id);
  }
  if (answer == RequestAdmission::Answer::kWait) return;
  while (true) {
    const Bytes bytes = transport_.peek(id);
    const std::size_t used = stream.session.append(bytes);
    const auto result = transport_.consume(id, used, now_);
    if (!result || result->reset) return;
    if (stream.session.complete()) {
      const StreamId session{stream.session.value()};
      peer_streams_.erase(id);
      return hand_over_incoming(id, session, result->finished);
    }
    if (result->finished || bytes.empty()) return;
  }
}

void Session::hand_over_incoming(StreamId id, StreamId session, bool finished) {
  // draft-ietf-webtrans-http3-02 §4: a session is named by its CONNECT stream.
  if (session.value % 4 != 0) {
    return fail({ErrorCode::kIdError, "WebTransport session id is not a request"});
  }
  handed_over_.insert(id);
  events_.push_back(WebTransportStreamOpened{id, session, finished});
}

ConnectionStatus Session::on_settings(const Settings& settings) {
  // RFC 9297 §2.1.1: HTTP datagrams need those of QUIC.
  if (settings.datagrams && !transport_.peer_takes_datagrams()) {
    return ConnectionError{ErrorCode::kSettingsError, "H3_DATAGRAM without QUIC datagrams"};
  }
  // Draft-ietf-webtrans-http3-16 §3.1.
  if (transport_.role() == Role::kClient && settings.webtransport.enabled_draft15 > 1) {
    return ConnectionError{ErrorCode::kSettingsError, "WT_ENABLED above 1"};
  }
  peer_settings_ = settings;
  events_.push_back(SettingsReceived{});
  // The stream that says so is the only control stream so far.
  for (const auto& [id, stream] : peer_streams_) {
    if (stream.kind == PeerStream::Kind::kControl) {
      // docs/internals/multi-end.md: backends know nothing of a dynamic table.
      Settings usable = settings;
      if (transport_.multi_end() && transport_.role() == Role::kClient) {
        usable.qpack_max_table_capacity = usable.qpack_blocked_streams = 0;
      }
      return framing_.apply_peer_settings(id, usable);
    }
  }
  return {};
}

void Session::on_go_away(std::uint64_t id) {
  events_.push_back(GoAwayReceived{id});
  if (transport_.role() == Role::kServer) return;  // it names a push
  peer_going_away_ = true;
  for (auto& [stream_id, stream] : requests_) {
    if (stream_id.value < id || stream_id.initiator() == Role::kServer || stream.reading_done ||
        transport_.at_backend(stream_id)) {
      continue;
    }
    abandon(stream_id, stream, value_of(ErrorCode::kRequestCancelled));
    events_.push_back(StreamReset{stream_id, value_of(ErrorCode::kRequestRejected)});
  }
}

ConnectionStatus Session::on_priority_update(StreamId id, Bytes value) {
  const auto priority = MessageFraming::parse_priority(value);
  if (!priority) {
    return ConnectionError{ErrorCode::kGeneralProtocolError, "priority is not a structured field"};
  }
  if (const RequestStream* stream = find(id); stream && stream->message_begun) {
    framing_.set_priority(id, *priority);
    transport_.set_priority(id, *priority);
  } else if (id.value >= next_request_ || stream) {
    if (early_priorities_.size() < k_max_early_priorities || early_priorities_.contains(id)) {
      early_priorities_[id] = *priority;
    }
  }
  return {};
}

}  // namespace sheaf::http3
