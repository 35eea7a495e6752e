#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "http3/session.h"

namespace sheaf::webtransport {

using quic::Bytes;
using quic::StreamId;

// Events name a session by the stream of its CONNECT request.
struct SessionRequested {  // server: respond with `accept` or `reject`
  StreamId session;
  http3::FieldSection fields;
};
struct SessionEstablished {  // client
  StreamId session;
  http3::FieldSection fields;
};
struct SessionRefused {  // client; status 0 says that the stream was reset without a response
  StreamId session;
  unsigned status = 0;
};
struct SessionDraining {  // the peer asks to end the session soon
  StreamId session;
};
// Reports that the session and all its streams have ended. `clean` is true when it was closed, and
// false when it was cut off.
struct SessionClosed {
  StreamId session;
  std::uint32_t code = 0;
  std::string reason;
  bool clean = false;
};
struct StreamOpened {  // by the peer
  StreamId session;
  StreamId stream;
};
struct StreamReadable {  // bytes or the end can be read
  StreamId stream;
};
struct StreamWritable {  // after `write` said that the buffer is full
  StreamId stream;
};
// Carries the application's error code, or nothing when the peer's code is outside of their range.
struct StreamReset {
  StreamId stream;
  std::optional<std::uint32_t> error;
};
struct StreamStopped {  // the peer does not want more (STOP_SENDING)
  StreamId stream;
  std::optional<std::uint32_t> error;
};
struct StreamAcknowledged {  // the peer has everything up to this offset, which does not count the
                             // prefix
  StreamId stream;
  std::uint64_t offset = 0;
};
struct StreamClosed {
  StreamId stream;
};
struct DatagramsWritable {};  // `send_datagram` refused a datagram for lack of room, and has room
                              // again

using Event = std::variant<SessionRequested, SessionEstablished, SessionRefused, SessionDraining,
                           SessionClosed, StreamOpened, StreamReadable, StreamWritable, StreamReset,
                           StreamStopped, StreamAcknowledged, StreamClosed, DatagramsWritable>;

}  // namespace sheaf::webtransport
