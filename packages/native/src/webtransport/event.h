#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "http3/session.h"

namespace sheaf::webtransport {

using quic::Bytes;
using quic::StreamId;

// A session is named by the stream of its CONNECT request.
struct SessionRequested {  // server: answer with `accept` or `reject`
  StreamId session;
  http3::FieldSection fields;
};
struct SessionEstablished {  // client
  StreamId session;
  http3::FieldSection fields;
};
struct SessionRefused {  // client; status 0: the stream was reset instead of answered
  StreamId session;
  unsigned status = 0;
};
struct SessionDraining {  // the peer asks to wind the session down
  StreamId session;
};
// The session and all its streams are over. `clean`: it was closed, not cut off.
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
struct StreamReadable {  // bytes or the end
  StreamId stream;
};
struct StreamWritable {  // after `write` said that the buffer is full
  StreamId stream;
};
// Error codes are the application's; nothing when the peer's code is not one of these.
struct StreamReset {
  StreamId stream;
  std::optional<std::uint32_t> error;
};
struct StreamStopped {  // the peer does not want more (STOP_SENDING)
  StreamId stream;
  std::optional<std::uint32_t> error;
};
struct StreamAcknowledged {  // the peer has everything up to this offset, our prefix not counted
  StreamId stream;
  std::uint64_t offset = 0;
};
struct StreamClosed {
  StreamId stream;
};
struct DatagramsWritable {};  // `send_datagram` refused one for want of room, and has room again

using Event = std::variant<SessionRequested, SessionEstablished, SessionRefused, SessionDraining,
                           SessionClosed, StreamOpened, StreamReadable, StreamWritable, StreamReset,
                           StreamStopped, StreamAcknowledged, StreamClosed, DatagramsWritable>;

}  // namespace sheaf::webtransport
