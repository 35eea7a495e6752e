#include "http3/session_parts.h"

#include <utility>

namespace sheaf::http3 {

namespace {

// Requests that a peer may cancel: at one time as many as there are streams, since users leave
// pages, and per second.
constexpr double k_cancellations = 1000;
constexpr double k_cancellations_per_second = 100;

}  // namespace

SessionParts::SessionParts(Transport& transport_below, const SessionConfig& session_config,
                           MessageFraming::Listener& listener)
    : transport(transport_below),
      config(session_config),
      framing(transport.role(), config.settings(transport.role()), listener),
      admission(transport),
      cancellations_(k_cancellations_per_second, k_cancellations) {}

RequestStream* SessionParts::find(StreamId id) {
  const auto found = requests.find(id);
  return found == requests.end() ? nullptr : &found->second;
}

const RequestStream* SessionParts::find(StreamId id) const {
  const auto found = requests.find(id);
  return found == requests.end() ? nullptr : &found->second;
}

bool SessionParts::request_open_or_to_come(StreamId id) const {
  return transport.role() == Role::kServer && (id.value >= next_unopened || find(id));
}

void SessionParts::abandon(StreamId id, RequestStream& stream, std::uint64_t error) {
  stream.close_error = error;
  stream.reading_done = true;
  transport.stop_sending(id, error);
  transport.reset_stream(id, error);
  end_writing(id, stream);
  // RFC 9204 §2.2.2.2: QPACK must know that the rest is not read.
  if (auto status = framing.shut_reading(id); !status) return fail(status.error());
  discard(id);
}

void SessionParts::end_writing(StreamId id, RequestStream& stream) {
  framing.shut_writing(id);
  stream.writing = RequestStream::Writing::kEnded;
  stream.chunks.clear();
  stream.chunks_framed = 0;
}

void SessionParts::discard(StreamId id) {
  while (true) {
    const std::size_t size = transport.peek(id).size();
    if (!transport.consume(id, size, now) || size == 0) return;
  }
}

// RFC 9114 §10.5: a cancelled request returns its stream credit at once, although work on it has
// begun.
bool SessionParts::count_cancellation(RequestStream& stream) {
  if (transport.role() == Role::kClient || !cancellations_bounded) return true;
  if (std::exchange(stream.cancelled, true)) return true;
  if (cancellations_.take(now)) return true;
  fail({ErrorCode::kExcessiveLoad, "too many cancelled requests"});
  return false;
}

void SessionParts::hand_over(StreamId id, StreamId session, bool finished) {
  // draft-ietf-webtrans-http3-02 §4: the id of a session is that of its CONNECT stream.
  if (session.value % 4 != 0) {
    return fail({ErrorCode::kIdError, "WebTransport session id is not a request"});
  }
  handed_over.insert(id);
  events.push_back(WebTransportStreamOpened{id, session, finished});
}

void SessionParts::fail(const ConnectionError& error) {
  if (closed) return;
  closed = true;
  transport.close(value_of(error.code), error.reason, now);
}

}  // namespace sheaf::http3
