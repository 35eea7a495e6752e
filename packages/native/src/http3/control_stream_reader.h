#pragma once

#include <vector>

#include "http3/error.h"
#include "http3/settings.h"
#include "http3/transport.h"
#include "http3/varint_accumulator.h"

namespace sheaf::http3 {

// Reads the peer's control stream after its stream type (RFC 9114 §6.2.1). Checks the order, the
// place and the form of every frame. The listener acts on what the frame says.
class ControlStreamReader {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual ConnectionStatus on_settings(const Settings& settings) = 0;
    // Reports a GOAWAY. Ids never grow, and a client only sees stream ids (RFC 9114 §5.2).
    virtual void on_go_away(std::uint64_t id) = 0;
    // Reports a PRIORITY_UPDATE (RFC 9218 §7.1), on a server only. `value` is the text of a
    // Priority field.
    virtual ConnectionStatus on_priority_update(StreamId stream, Bytes value) = 0;
  };

  // `role` is that of this side.
  ControlStreamReader(Role role, Listener& listener) : role_(role), listener_(listener) {}
  ConnectionStatus read(Bytes bytes);

 private:
  ConnectionStatus begin_frame();
  ConnectionStatus finish_frame();
  ConnectionStatus on_go_away(Bytes payload);
  ConnectionStatus on_max_push_id(Bytes payload);
  ConnectionStatus on_priority_update(Bytes payload);

  Role role_;
  Listener& listener_;
  TypeLengthAccumulator header_;
  bool in_payload_ = false;
  bool skipped_ = false;  // ignore the payload of this frame
  std::uint64_t payload_left_ = 0;
  std::vector<std::uint8_t> payload_;
  bool settings_received_ = false;
  std::uint64_t last_go_away_ = quic::k_max_varint;
  std::uint64_t max_push_id_ = 0;
};

}  // namespace sheaf::http3
