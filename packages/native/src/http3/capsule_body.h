#pragma once

#include <optional>

#include "http3/capsule.h"
#include "http3/session.h"

namespace sheaf::http3 {

// Reads the capsules that have come on the stream of a request. `take(capsule)` returns the error
// that ends the request, or nothing. So does this function.
template <typename Take>
std::optional<ErrorCode> read_capsules(Session& session, StreamId stream, CapsuleReader& reader,
                                       Time now, Take&& take) {
  while (true) {
    const Bytes body = session.peek_body(stream);
    if (body.empty()) return std::nullopt;
    Bytes rest = body;
    const auto capsule = reader.next(rest);
    // The value is a copy, so the body's bytes may go.
    session.consume_body(stream, body.size() - rest.size(), now);
    if (!capsule) return capsule.error().code;
    if (!*capsule) continue;
    if (const std::optional<ErrorCode> error = take(**capsule)) return error;
  }
}

// Drops what has come on the stream of a request that is over: what the peer said before it knew.
// The stream closes when its end was read.
inline void discard_body(Session& session, StreamId stream, Time now) {
  for (Bytes body; !(body = session.peek_body(stream)).empty();) {
    session.consume_body(stream, body.size(), now);
  }
}

}  // namespace sheaf::http3
