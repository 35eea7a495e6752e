#include "qlog/qlog_file.h"

#include <cinttypes>

#include "qlog/qlog_directory.h"
#include "qlog/qlog_frame.h"

namespace sheaf::qlog {

using quic::Time;

namespace {

constexpr char k_record_separator = '\x1e';

double milliseconds(quic::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

QlogFile::QlogFile(std::FILE* file, const Trace& trace)
    : file_(file), start_(trace.start), last_(trace.start) {
  const char* vantage = trace.role == quic::Role::kServer ? "server" : "client";
  std::fprintf(file,
               "%c{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\","
               "\"serialization_format\":\"application/qlog+json-seq\",\"title\":\"Sheaf\","
               "\"trace\":{\"vantage_point\":{\"type\":\"%s\"},\"event_schemas\":"
               "[\"urn:ietf:params:qlog:events:quic-12\"],\"common_fields\":{\"group_id\":\"%s\","
               "\"time_format\":\"relative_to_epoch\",\"reference_time\":"
               "{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}}}}\n",
               k_record_separator, vantage, hex_text(trace.original_destination).c_str());
}

QlogFile::~QlogFile() {
  end_received_packet();
  std::fclose(file_);
}

void QlogFile::begin_event(Time now, const char* name) {
  end_received_packet();
  last_ = now;
  std::fprintf(file_, "%c{\"time\":%.3f,\"name\":\"quic:%s\",\"data\":{", k_record_separator,
               milliseconds(now - start_), name);
}

void QlogFile::end_event() { std::fputs("}}\n", file_); }

// Ends the event of a received packet when another event begins, since its frames come one by one.
void QlogFile::end_received_packet() {
  if (!in_received_packet_) return;
  in_received_packet_ = false;
  std::fputs("]", file_);
  end_event();
  if (const auto metrics = std::exchange(metrics_, std::nullopt)) {
    write_metrics(metrics->first, metrics->second);
  }
}

void QlogFile::write_header(const PacketInfo& packet) {
  std::fprintf(file_,
               "\"header\":{\"packet_type\":\"%s\",\"packet_number\":%" PRIu64
               "},\"raw\":{\"length\":%zu}",
               packet.early ? "0RTT" : "1RTT", packet.number, packet.bytes);
  if (packet.path.value != 0) std::fprintf(file_, ",\"path_id\":%" PRIu32, packet.path.value);
}

void QlogFile::packet_sent(Time now, const PacketInfo& packet,
                           std::span<const quic::SentFrame> frames) {
  begin_event(now, "packet_sent");
  write_header(packet);
  std::fputs(",\"frames\":[", file_);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i > 0) std::fputc(',', file_);
    write_qlog_frame(file_, frames[i]);
  }
  std::fputs("]", file_);
  end_event();
}

void QlogFile::packet_received(Time now, const PacketInfo& packet) {
  begin_event(now, "packet_received");
  write_header(packet);
  std::fputs(",\"frames\":[", file_);
  in_received_packet_ = true;
  first_frame_ = true;
}

void QlogFile::frame_received(const quic::Frame& frame) {
  if (!std::exchange(first_frame_, false)) std::fputc(',', file_);
  write_qlog_frame(file_, frame);
}

void QlogFile::packet_dropped(Time now, quic::DropReason reason, std::size_t bytes) {
  begin_event(now, "packet_dropped");
  std::fprintf(file_, "\"raw\":{\"length\":%zu},\"trigger\":\"%s\"", bytes,
               std::string(quic::to_string(reason)).c_str());
  end_event();
}

void QlogFile::metrics_updated(Time now, const quic::PathStats& path) {
  if (in_received_packet_) {
    metrics_ = {now, path};
  } else {
    write_metrics(now, path);
  }
}

void QlogFile::write_metrics(Time now, const quic::PathStats& path) {
  begin_event(now, "recovery_metrics_updated");
  std::fprintf(file_,
               "\"smoothed_rtt\":%.3f,\"min_rtt\":%.3f,\"congestion_window\":%" PRIu64
               ",\"bytes_in_flight\":%" PRIu64,
               milliseconds(path.smoothed_rtt), milliseconds(path.minimum_rtt),
               path.congestion_window, path.bytes_in_flight);
  end_event();
}

void QlogFile::closed(const quic::ConnectionClosed& closed) {
  begin_event(last_, "connection_closed");
  const bool local = closed.cause == quic::ConnectionClosed::Cause::kLocalApplication ||
                     closed.cause == quic::ConnectionClosed::Cause::kLocalError;
  const bool application = closed.cause == quic::ConnectionClosed::Cause::kLocalApplication ||
                           closed.cause == quic::ConnectionClosed::Cause::kPeerApplication;
  std::fprintf(file_, "\"initiator\":\"%s\",\"%s\":%" PRIu64, local ? "local" : "remote",
               application ? "application_error" : "error_code", closed.error);
  std::fputs(",\"reason\":", file_);
  write_json_string(file_, closed.reason);
  end_event();
}

}  // namespace sheaf::qlog
