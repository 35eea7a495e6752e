#include "http3/control_stream_reader.h"

#include <algorithm>

#include "http3/frame_type.h"

namespace sheaf::http3 {
namespace {

// Maximum payload, in bytes, of a frame that is kept. Any SETTINGS or PRIORITY_UPDATE in use is far
// shorter.
constexpr std::uint64_t k_max_payload = 4096;

bool single_varint(Bytes payload, std::uint64_t& value) {
  quic::Reader reader(payload);
  value = reader.read_varint();
  return reader.ok() && reader.empty();
}

ConnectionError unexpected(std::string_view reason) {
  return {ErrorCode::kFrameUnexpected, reason};
}
ConnectionError malformed(std::string_view reason) { return {ErrorCode::kFrameError, reason}; }

}  // namespace

ConnectionStatus ControlStreamReader::read(Bytes bytes) {
  while (!bytes.empty()) {
    if (!in_payload_) {
      bytes = bytes.subspan(header_.append(bytes));
      if (!header_.complete()) return {};
      if (auto status = begin_frame(); !status) return status;
    }
    const std::size_t part =
        static_cast<std::size_t>(std::min<std::uint64_t>(payload_left_, bytes.size()));
    if (!skipped_) payload_.insert(payload_.end(), bytes.begin(), bytes.begin() + part);
    bytes = bytes.subspan(part);
    payload_left_ -= part;
    if (payload_left_ > 0) return {};
    if (auto status = finish_frame(); !status) return status;
    in_payload_ = false;
    header_.reset();
    payload_.clear();
  }
  return {};
}

// Refuses a frame that is out of place as soon as its type is known.
ConnectionStatus ControlStreamReader::begin_frame() {
  const std::uint64_t type = header_.type();
  if (!settings_received_ && type != k_frame_settings) {
    return ConnectionError{ErrorCode::kMissingSettings, "first frame is not SETTINGS"};
  }
  in_payload_ = true;
  skipped_ = false;
  payload_left_ = header_.length();
  switch (type) {
    case k_frame_settings:
      if (settings_received_) return unexpected("second SETTINGS");
      break;
    case k_frame_data:
    case k_frame_headers:
    case k_frame_push_promise:
      return unexpected("request frame on the control stream");
    case k_frame_max_push_id:
    case k_frame_priority_update:
    case k_frame_priority_update_push:
      if (role_ == Role::kClient) return unexpected("frame that only a client sends");
      break;
    case k_frame_go_away:
    case k_frame_cancel_push:
      break;
    default:
      if (frame_reserved_by_http2(type)) return unexpected("HTTP/2 frame");
      skipped_ = true;  // RFC 9114 §9: frames of unknown types are skipped
      return {};
  }
  if (payload_left_ > k_max_payload) {
    return ConnectionError{ErrorCode::kExcessiveLoad, "control frame is too long"};
  }
  return {};
}

ConnectionStatus ControlStreamReader::finish_frame() {
  if (skipped_) return {};
  switch (header_.type()) {
    case k_frame_settings: {
      settings_received_ = true;
      const auto settings = decode_settings(payload_);
      if (!settings) return settings.error();
      return listener_.on_settings(*settings);
    }
    case k_frame_go_away:
      return on_go_away(payload_);
    case k_frame_max_push_id:
      return on_max_push_id(payload_);
    case k_frame_priority_update:
      return on_priority_update(payload_);
    // RFC 9114 §7.2.3, RFC 9218 §7.2: this side neither pushes nor permits a push, so no push id is
    // valid.
    default:
      return ConnectionError{ErrorCode::kIdError, "push id that was never promised"};
  }
}

ConnectionStatus ControlStreamReader::on_go_away(Bytes payload) {
  std::uint64_t id = 0;
  if (!single_varint(payload, id)) return malformed("GOAWAY");
  // RFC 9114 §5.2: a server's GOAWAY names a request and a client's names a push. Ids never grow.
  const bool names_request = id % 4 == 0;
  if ((role_ == Role::kClient && !names_request) || id > last_go_away_) {
    return ConnectionError{ErrorCode::kIdError, "GOAWAY id grew, or names no request"};
  }
  last_go_away_ = id;
  listener_.on_go_away(id);
  return {};
}

ConnectionStatus ControlStreamReader::on_max_push_id(Bytes payload) {
  std::uint64_t id = 0;
  if (!single_varint(payload, id)) return malformed("MAX_PUSH_ID");
  if (id < max_push_id_) return ConnectionError{ErrorCode::kIdError, "MAX_PUSH_ID decreased"};
  max_push_id_ = id;
  return {};
}

ConnectionStatus ControlStreamReader::on_priority_update(Bytes payload) {
  quic::Reader reader(payload);
  const StreamId stream{reader.read_varint()};
  if (!reader.ok()) return malformed("PRIORITY_UPDATE");
  if (stream.value % 4 != 0) {
    return ConnectionError{ErrorCode::kIdError, "PRIORITY_UPDATE for a stream that is no request"};
  }
  return listener_.on_priority_update(stream, reader.read_rest());
}

}  // namespace sheaf::http3
