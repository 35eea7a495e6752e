#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "connection/event.h"
#include "http3/field_section.h"
#include "http3/transport.h"

namespace sheaf::http3 {

// Reports that the peer's SETTINGS arrived (`Session::peer_settings`).
struct SettingsReceived {};
// Server: reports a request. Fields include the pseudo-header fields. `early` is true when it came
// in 0-RTT packets and may be a replay (RFC 8470).
struct RequestReceived {
  StreamId stream;
  FieldSection fields;
  bool early = false;
};
// Client: reports a response. Informational responses (1xx) may precede the final one.
struct ResponseReceived {
  StreamId stream;
  FieldSection fields;
  bool informational = false;
};
struct TrailersReceived {
  StreamId stream;
  FieldSection fields;
};
struct BodyReadable {  // `peek_body` has bytes
  StreamId stream;
};
struct MessageFinished {  // the peer's message is complete and its body was consumed
  StreamId stream;
};
struct BodyWritable {  // follows after `write_body` reported a full buffer
  StreamId stream;
};
// Reports that no more of the peer's message will arrive, because the peer reset the stream or
// broke a rule there.
struct StreamReset {
  StreamId stream;
  std::uint64_t error = 0;
};
struct WritingStopped {  // the peer does not want the rest of our message (STOP_SENDING)
  StreamId stream;
  std::uint64_t error = 0;
};
struct StreamClosed {  // both sides are done; the id is forgotten
  StreamId stream;
};
struct StreamsAvailable {  // a stream that was refused with kStreamLimit may be opened now
  Directionality directionality;
};
// Reports that the peer will not serve requests from this id on. Such requests that were already
// sent are reset with H3_REQUEST_REJECTED, and are safe to send again.
struct GoAwayReceived {
  std::uint64_t id = 0;
};
// Reports that a datagram of `Session::send_datagram` arrived or was lost. `identifier` is the
// sender's.
struct DatagramOutcome {
  std::uint64_t identifier = 0;
  bool acknowledged = false;
};
struct DatagramsWritable {};  // `Session::send_datagram` has refused a datagram, and has room again
// Reports a stream that belongs to a WebTransport session (prefix 0x41 or 0x54). Its prefix is
// consumed.
struct WebTransportStreamOpened {
  StreamId stream;
  StreamId session;
  bool finished = false;  // the stream ended right after its prefix
};
// Carries an event of a stream that was handed over by WebTransportStreamOpened or `hand_over`.
struct HandedOverStreamEvent {
  quic::StreamEvent event;
};
struct SessionClosed {  // the connection has ended
  quic::ConnectionClosed reason;
};

using SessionEvent =
    std::variant<SettingsReceived, RequestReceived, ResponseReceived, TrailersReceived,
                 BodyReadable, MessageFinished, BodyWritable, StreamReset, WritingStopped,
                 StreamClosed, StreamsAvailable, GoAwayReceived, DatagramsWritable, DatagramOutcome,
                 WebTransportStreamOpened, HandedOverStreamEvent, SessionClosed>;

}  // namespace sheaf::http3
