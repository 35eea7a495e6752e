#include "qlog/qlog_frame.h"

#include <cinttypes>

#include "wire/frame_codec.h"

namespace sheaf::qlog {

namespace {

using namespace quic;

const char* directionality(Directionality value) {
  return value == Directionality::kBidirectional ? "bidirectional" : "unidirectional";
}

// Writes the fields after {"frame_type":…
class Fields {
 public:
  explicit Fields(std::FILE* file) : file_(file) {}

  void type(const char* name) const { std::fprintf(file_, "{\"frame_type\":\"%s\"", name); }
  void field(const char* name, std::uint64_t value) const {
    std::fprintf(file_, ",\"%s\":%" PRIu64, name, value);
  }
  void text(const char* name, const char* value) const {
    std::fprintf(file_, ",\"%s\":\"%s\"", name, value);
  }

  void operator()(const PaddingFrame& frame) const {
    type("padding");
    field("length", frame.length);
  }
  void operator()(const PingFrame&) const { type("ping"); }
  void operator()(const AckFrame& frame) const {
    type("ack");
    acknowledged(frame);
  }
  void operator()(const ResetStreamFrame& frame) const {
    type(frame.reliable_size > 0 ? "reset_stream_at" : "reset_stream");
    field("stream_id", frame.stream.value);
    field("error_code", frame.error);
    field("final_size", frame.final_size);
  }
  void operator()(const StopSendingFrame& frame) const {
    type("stop_sending");
    field("stream_id", frame.stream.value);
    field("error_code", frame.error);
  }
  void operator()(const CryptoFrame& frame) const {
    type("crypto");
    field("offset", frame.offset);
    field("length", frame.data.size());
  }
  void operator()(const NewTokenFrame&) const { type("new_token"); }
  void operator()(const StreamFrame& frame) const {
    type("stream");
    field("stream_id", frame.stream.value);
    field("offset", frame.offset);
    field("length", frame.data.size());
    std::fprintf(file_, ",\"fin\":%s", frame.fin ? "true" : "false");
  }
  void operator()(const MaxDataFrame& frame) const {
    type("max_data");
    field("maximum", frame.maximum);
  }
  void operator()(const MaxStreamDataFrame& frame) const {
    type("max_stream_data");
    field("stream_id", frame.stream.value);
    field("maximum", frame.maximum);
  }
  void operator()(const MaxStreamsFrame& frame) const {
    type("max_streams");
    text("stream_type", directionality(frame.directionality));
    field("maximum", frame.maximum);
  }
  void operator()(const DataBlockedFrame& frame) const {
    type("data_blocked");
    field("limit", frame.limit);
  }
  void operator()(const StreamDataBlockedFrame& frame) const {
    type("stream_data_blocked");
    field("stream_id", frame.stream.value);
    field("limit", frame.limit);
  }
  void operator()(const StreamsBlockedFrame& frame) const {
    type("streams_blocked");
    text("stream_type", directionality(frame.directionality));
    field("limit", frame.limit);
  }
  void operator()(const NewConnectionIdFrame& frame) const {
    type("new_connection_id");
    issued(frame);
  }
  void operator()(const RetireConnectionIdFrame& frame) const {
    type("retire_connection_id");
    field("sequence_number", frame.sequence);
  }
  void operator()(const PathChallengeFrame&) const { type("path_challenge"); }
  void operator()(const PathResponseFrame&) const { type("path_response"); }
  void operator()(const ConnectionCloseFrame& frame) const {
    type("connection_close");
    text("error_space", frame.application ? "application" : "transport");
    field("error_code", frame.error);
  }
  void operator()(const HandshakeDoneFrame&) const { type("handshake_done"); }
  void operator()(const AckFrequencyFrame& frame) const {
    type("ack_frequency");
    field("sequence_number", frame.sequence);
    field("ack_eliciting_threshold", frame.threshold);
    field("requested_max_ack_delay", frame.max_ack_delay);
    field("reordering_threshold", frame.reordering_threshold);
  }
  void operator()(const ImmediateAckFrame&) const { type("immediate_ack"); }
  void operator()(const DatagramFrame& frame) const {
    type("datagram");
    field("length", frame.data.size());
  }
  void operator()(const PathAckFrame& frame) const {
    type("path_ack");
    path(frame.path);
    acknowledged(frame.ack);
  }
  void operator()(const PathAbandonFrame& frame) const {
    type("path_abandon");
    path(frame.path);
    field("error_code", frame.error);
  }
  void operator()(const PathStatusFrame& frame) const {
    type(frame.status == PathStatus::kBackup ? "path_status_backup" : "path_status_available");
    path(frame.path);
    field("path_status_sequence_number", frame.sequence);
  }
  void operator()(const PathNewConnectionIdFrame& frame) const {
    type("path_new_connection_id");
    path(frame.path);
    issued(frame.issued);
  }
  void operator()(const PathRetireConnectionIdFrame& frame) const {
    type("path_retire_connection_id");
    path(frame.path);
    field("sequence_number", frame.sequence);
  }
  void operator()(const MaxPathIdFrame& frame) const {
    type("max_path_id");
    field("maximum_path_id", frame.maximum.value);
  }
  void operator()(const PathsBlockedFrame& frame) const {
    type("paths_blocked");
    field("maximum_path_id", frame.maximum.value);
  }
  void operator()(const PathCidsBlockedFrame& frame) const {
    type("path_cids_blocked");
    path(frame.path);
    field("next_sequence_number", frame.next_sequence);
  }
  void operator()(const BackendOfferFrame& frame) const {
    type("backend_offer");
    field("backend_id", frame.backend.value);
    field("sequence_number", frame.sequence);
    path(frame.path);
  }
  void operator()(const BackendWithdrawFrame& frame) const {
    type("backend_withdraw");
    field("backend_id", frame.backend.value);
    field("sequence_number", frame.sequence);
    field("reason", frame.reason);
  }
  void operator()(const BackendAbandonFrame& frame) const {
    type("backend_abandon");
    path(frame.path);
    field("error_code", frame.error);
    field("received", frame.use.received);
    field("sent", frame.use.sent);
    field("streams", frame.use.streams);
  }
  void operator()(const TunnelReportFrame& frame) const {
    type("tunnel_report");
    field("length", frame.report.size());
  }

 private:
  void path(PathId id) const { field("path_id", id.value); }
  void acknowledged(const AckFrame& frame) const {
    std::fputs(",\"acked_ranges\":[", file_);
    AckRangeReader ranges(frame);
    PacketNumber first = 0;
    PacketNumber last = 0;
    for (bool any = false; ranges.next(first, last); any = true) {
      std::fprintf(file_, "%s[%" PRIu64 ",%" PRIu64 "]", any ? "," : "", first, last);
    }
    std::fputs("]", file_);
    if (frame.ecn) field("ce", frame.ecn->ce);
  }
  void issued(const NewConnectionIdFrame& frame) const {
    field("sequence_number", frame.sequence);
    field("retire_prior_to", frame.retire_prior_to);
    field("connection_id_length", frame.id.length);
  }

  std::FILE* file_;
};

const char* name_of(SentFrame::Kind kind) {
  using Kind = SentFrame::Kind;
  switch (kind) {
    case Kind::kAck:
      return "ack";
    case Kind::kPing:
    case Kind::kMtuProbe:
      return "ping";
    case Kind::kStream:
      return "stream";
    case Kind::kResetStream:
      return "reset_stream";
    case Kind::kStopSending:
      return "stop_sending";
    case Kind::kCrypto:
      return "crypto";
    case Kind::kNewToken:
      return "new_token";
    case Kind::kMaxData:
      return "max_data";
    case Kind::kMaxStreamData:
      return "max_stream_data";
    case Kind::kMaxStreamsBidi:
    case Kind::kMaxStreamsUni:
      return "max_streams";
    case Kind::kDataBlocked:
      return "data_blocked";
    case Kind::kStreamDataBlocked:
      return "stream_data_blocked";
    case Kind::kStreamsBlockedBidi:
    case Kind::kStreamsBlockedUni:
      return "streams_blocked";
    case Kind::kNewConnectionId:
      return "new_connection_id";
    case Kind::kRetireConnectionId:
      return "retire_connection_id";
    case Kind::kPathChallenge:
      return "path_challenge";
    case Kind::kPathResponse:
      return "path_response";
    case Kind::kHandshakeDone:
      return "handshake_done";
    case Kind::kTunnelReport:
      return "tunnel_report";
    case Kind::kImmediateAck:
      return "immediate_ack";
    case Kind::kAckFrequency:
      return "ack_frequency";
    case Kind::kDatagram:
      return "datagram";
    case Kind::kPathAck:
      return "path_ack";
    case Kind::kPathAbandon:
      return "path_abandon";
    case Kind::kPathStatus:
      return "path_status";
    case Kind::kMaxPathId:
      return "max_path_id";
    case Kind::kPathsBlocked:
      return "paths_blocked";
    case Kind::kPathCidsBlocked:
      return "path_cids_blocked";
    case Kind::kBackendOffer:
      return "backend_offer";
    case Kind::kBackendWithdraw:
      return "backend_withdraw";
  }
  return "unknown";
}

}  // namespace

void write_qlog_frame(std::FILE* file, const Frame& frame) {
  std::visit(Fields{file}, frame);
  std::fputc('}', file);
}

void write_qlog_frame(std::FILE* file, const SentFrame& frame) {
  const Fields fields{file};
  fields.type(name_of(frame.kind()));
  if (frame.kind() == SentFrame::Kind::kStream) {
    fields.field("stream_id", frame.stream().value);
    fields.field("offset", frame.offset());
    fields.field("length", frame.length());
    std::fprintf(file, ",\"fin\":%s", frame.fin() ? "true" : "false");
  }
  std::fputc('}', file);
}

void write_json_string(std::FILE* file, std::string_view text) {
  std::fputc('"', file);
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\') {
      std::fprintf(file, "\\u%04x", byte);
    } else {
      std::fputc(character, file);
    }
  }
  std::fputc('"', file);
}

}  // namespace sheaf::qlog
