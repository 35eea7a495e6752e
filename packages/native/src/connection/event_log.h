#pragma once

#include <cstdint>
#include <span>

#include "connection/event.h"
#include "connection/stats.h"
#include "recovery/sent_frame.h"
#include "util/time.h"
#include "wire/frame.h"

namespace sheaf::quic {

// Receives what a connection reports while it runs, in the terms of draft-ietf-quic-qlog. Without a
// log nothing is computed.
class EventLog {
 public:
  struct PacketInfo {
    PathId path;
    PacketNumber number = 0;
    std::size_t bytes = 0;
    bool early = false;  // 0-RTT
  };
  virtual ~EventLog() = default;
  virtual void packet_sent(Time now, const PacketInfo& packet,
                           std::span<const SentFrame> frames) = 0;
  virtual void packet_received(Time now, const PacketInfo& packet) = 0;
  virtual void frame_received(const Frame& frame) = 0;  // of the last packet_received
  virtual void packet_dropped(Time now, DropReason reason, std::size_t bytes) = 0;
  virtual void metrics_updated(Time now, const PathStats& path) = 0;
  virtual void closed(const ConnectionClosed& closed) = 0;  // at the time of the last event
};

}  // namespace sheaf::quic
