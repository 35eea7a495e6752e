#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "connection/event.h"
#include "http3/field_section.h"
#include "http3/transport.h"

namespace sheaf::http3 {

// The peer's SETTINGS arrived: what it supports is known (`Session::peer_settings`).
struct SettingsReceived {};
// Server. Fields include the pseudo-fields. `early`: came in 0-RTT packets, may be a replay
// (RFC 8470).
struct RequestReceived {
  StreamId stream;
  FieldSection fields;
  bool early = false;
};
// Client. Informational responses (1xx) may come before the final one.
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
struct BodyWritable {  // after `write_body` said that the buffer is full
  StreamId stream;
};
// No more of the peer's message will come: it reset the stream, or it broke a rule there.
struct StreamReset {
  StreamId stream;
  std::uint64_t error = 0;
};
struct WritingStopped {  // the peer does not want more of our message (STOP_SENDING)
  StreamId stream;
  std::uint64_t error = 0;
};
struct StreamClosed {  // both sides are done; the id is forgotten
  StreamId stream;
};
struct StreamsAvailable {  // what was refused with kStreamLimit may succeed now
  Directionality directionality;
};
// The peer will not serve requests from this id on; those already sent are reset with
// H3_REQUEST_REJECTED and are safe to retry.
struct GoAwayReceived {
  std::uint64_t id = 0;
};
// A datagram that `Session::send_datagram` took arrived, or was lost; `identifier` is the sender's.
struct DatagramOutcome {
  std::uint64_t identifier = 0;
  bool acknowledged = false;
};
struct DatagramsWritable {};  // `Session::send_datagram` refused one, and has room again
// A stream that belongs to a WebTransport session (prefix 0x41 or 0x54); its prefix is consumed.
struct WebTransportStreamOpened {
  StreamId stream;
  StreamId session;
  bool finished = false;  // the stream ended right after its prefix
};
// An event of a stream that was handed over by WebTransportStreamOpened or `hand_over`.
struct HandedOverStreamEvent {
  quic::StreamEvent event;
};
struct SessionClosed {  // the connection is gone
  quic::ConnectionClosed reason;
};

using SessionEvent =
    std::variant<SettingsReceived, RequestReceived, ResponseReceived, TrailersReceived,
                 BodyReadable, MessageFinished, BodyWritable, StreamReset, WritingStopped,
                 StreamClosed, StreamsAvailable, GoAwayReceived, DatagramsWritable, DatagramOutcome,
                 WebTransportStreamOpened, HandedOverStreamEvent, SessionClosed>;

}  // namespace sheaf::http3
