#pragma once

#include <cstdio>
#include <optional>
#include <utility>

#include "connection/event_log.h"

namespace sheaf::qlog {

// Writes one connection's events as JSON text sequences (RFC 7464) of
// draft-ietf-quic-qlog-main-schema and draft-ietf-quic-qlog-quic-events. It contains no Initial and
// Handshake packets, which ngtcp2 handles, and never payload bytes or keys.
class QlogFile final : public quic::EventLog {
 public:
  struct Trace {
    quic::Role role;
    quic::ConnectionId original_destination;
    quic::Time start;
  };
  // Takes ownership of an open file.
  QlogFile(std::FILE* file, const Trace& trace);
  ~QlogFile() override;

  void packet_sent(quic::Time now, const PacketInfo& packet,
                   std::span<const quic::SentFrame> frames) override;
  void packet_received(quic::Time now, const PacketInfo& packet) override;
  void frame_received(const quic::Frame& frame) override;
  void packet_dropped(quic::Time now, quic::DropReason reason, std::size_t bytes) override;
  void metrics_updated(quic::Time now, const quic::PathStats& path) override;
  void closed(const quic::ConnectionClosed& closed) override;

 private:
  void begin_event(quic::Time now, const char* name);
  void end_event();
  void end_received_packet();
  void write_header(const PacketInfo& packet);
  void write_metrics(quic::Time now, const quic::PathStats& path);

  std::FILE* file_;
  quic::Time start_;
  quic::Time last_;  // of the last event
  bool in_received_packet_ = false;
  bool first_frame_ = true;
  // Metrics wait here. They come with the ACK frame, between the frames of the packet that carries
  // it.
  std::optional<std::pair<quic::Time, quic::PathStats>> metrics_;
};

}  // namespace sheaf::qlog
