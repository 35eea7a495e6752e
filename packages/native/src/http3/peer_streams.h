#pragma once

#include <array>
#include <optional>
#include <unordered_map>

#include "http3/control_stream_reader.h"
#include "http3/request_reader.h"
#include "http3/session_parts.h"

namespace sheaf::http3 {

// Reads the peer's unidirectional streams (RFC 9114 §6.2): control, QPACK, WebTransport and unknown
// ones. All arguments of the constructor must outlive this object.
class PeerStreams {
 public:
  PeerStreams(SessionParts& parts, RequestReader& requests, ControlStreamReader::Listener& listener)
      : parts_(parts), requests_(requests), control_reader_(parts.transport.role(), listener) {}

  void on_opened(StreamId id) { streams_.try_emplace(id); }
  // Does nothing when the stream is not one of these.
  void read(StreamId id);
  // Both return false when the stream is not one of these.
  bool on_reset(StreamId id);
  bool on_closed(StreamId id);
  // Returns the control stream once it is known.
  std::optional<StreamId> control() const;

 private:
  struct Stream {
    enum class Kind : std::uint8_t { kUnknown, kControl, kQpack, kWebTransport, kIgnored };
    Kind kind = Kind::kUnknown;
    VarintAccumulator type;
    VarintAccumulator session;  // WebTransport only
    RequestAdmission::Place place = RequestAdmission::Place::kNew;
    bool critical() const { return kind == Kind::kControl || kind == Kind::kQpack; }
  };

  void identify(StreamId id, Stream& stream);
  void read_control(StreamId id);
  void read_qpack(StreamId id);
  void read_webtransport_prefix(StreamId id, Stream& stream);

  SessionParts& parts_;
  RequestReader& requests_;
  ControlStreamReader control_reader_;
  std::unordered_map<StreamId, Stream> streams_;
  std::array<bool, 4> critical_seen_{};  // by stream type
};

}  // namespace sheaf::http3
