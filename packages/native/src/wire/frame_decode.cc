#include <algorithm>
#include <array>

#include "util/one_host.h"
#include "wire/frame_codec.h"
#include "wire/violation.h"

namespace sheaf::quic {
namespace {

using Decoded = Result<Frame, TransportError>;

[[gnu::cold]] TransportError encoding_error(FrameType type, const char* reason) {
  return {TransportErrorCode::kFrameEncodingError, static_cast<std::uint64_t>(type), reason};
}

// Returns the frame if all of its fields were present.
template <typename F>
Decoded complete(const Reader& reader, FrameType type, const F& frame) {
  if (!reader.ok()) return encoding_error(type, "frame is truncated");
  return Frame{frame};
}

// Returns whether a frame cannot be sent before the handshake is complete (RFC 9000 §12.5).
bool forbidden_in_zero_rtt(FrameType type) {
  switch (type) {
    case FrameType::kAck:
    case FrameType::kAckEcn:
    case FrameType::kCrypto:
    case FrameType::kHandshakeDone:
    case FrameType::kNewToken:
    case FrameType::kPathResponse:
    case FrameType::kRetireConnectionId:
    // draft-ietf-quic-ack-frequency-11 §3.
    case FrameType::kAckFrequency:
    case FrameType::kImmediateAck:
    // RFC 10069 §4.
    case FrameType::kPathAck:
    case FrameType::kPathAckEcn:
    case FrameType::kPathAbandon:
    case FrameType::kPathStatusBackup:
    case FrameType::kPathStatusAvailable:
    case FrameType::kPathNewConnectionId:
    case FrameType::kPathRetireConnectionId:
    case FrameType::kMaxPathId:
    case FrameType::kPathsBlocked:
    case FrameType::kPathCidsBlocked:
    // docs/reference/wire.md.
    case FrameType::kBackendOffer:
    case FrameType::kBackendWithdraw:
    case FrameType::kBackendAbandon:
    case FrameType::kTunnelReport:
      return true;
    default:
      return false;
  }
}

// Reads what follows the type, and in PATH_ACK the path id (RFC 9000 §19.3).
bool read_ack_body(Reader& reader, bool has_ecn, AckFrame& frame) {
  frame.largest = reader.read_varint();
  frame.delay = reader.read_varint();
  frame.range_count = reader.read_varint();
  frame.first_range = reader.read_varint();
  if (frame.first_range > frame.largest) return false;

  // RFC 9000 §19.3.1: no computed packet number may be negative. The bytes of the packet bound a
  // false range count.
  PacketNumber smallest = frame.largest - frame.first_range;
  const std::uint8_t* const ranges = reader.position();
  for (std::uint64_t i = 0; i < frame.range_count; ++i) {
    const std::uint64_t gap = reader.read_varint();
    const std::uint64_t length = reader.read_varint();
    if (!reader.ok() || gap + 2 + length > smallest) return false;
    smallest -= gap + 2 + length;
  }
  frame.ranges = {ranges, reader.position()};
  frame.ecn.reset();
  if (has_ecn) {
    EcnCounts& counts = frame.ecn.emplace();
    counts.ect0 = reader.read_varint();
    counts.ect1 = reader.read_varint();
    counts.ce = reader.read_varint();
  }
  return reader.ok();
}

Decoded decode_padding(Reader& reader) {
  PaddingFrame frame;
  while (!reader.empty() && *reader.position() == 0) {
    reader.read_u8();
    ++frame.length;
  }
  return Frame{frame};
}

Decoded decode_reset_stream(Reader& reader, FrameType type) {
  ResetStreamFrame frame{{reader.read_varint()}};
  frame.error = reader.read_varint();
  frame.final_size = reader.read_varint();
  if (type == FrameType::kResetStreamAt) frame.reliable_size = reader.read_varint();
  if (frame.reliable_size > frame.final_size) {
    return encoding_error(type, "reliable size is above the final size");
  }
  return complete(reader, type, frame);
}

Decoded decode_crypto(Reader& reader) {
  CryptoFrame frame;
  frame.offset = reader.read_varint();
  frame.data = reader.read_bytes(reader.read_varint());
  if (frame.data.size() > k_max_varint - frame.offset) {
    return encoding_error(FrameType::kCrypto, "ends beyond 2^62-1");
  }
  return complete(reader, FrameType::kCrypto, frame);
}

Decoded decode_new_token(Reader& reader) {
  const NewTokenFrame frame{reader.read_bytes(reader.read_varint())};
  if (reader.ok() && frame.token.empty()) {
    return encoding_error(FrameType::kNewToken, "token is empty");
  }
  return complete(reader, FrameType::kNewToken, frame);
}

// Decodes MAX_STREAMS and STREAMS_BLOCKED, whose lowest type bit is the directionality.
template <typename F>
Decoded decode_stream_count(Reader& reader, FrameType type) {
  const Directionality directionality = static_cast<std::uint64_t>(type) & 1
                                            ? Directionality::kUnidirectional
                                            : Directionality::kBidirectional;
  const std::uint64_t count = reader.read_varint();
  if (count > k_max_streams) return encoding_error(type, "more than 2^60 streams");
  return complete(reader, type, F{directionality, count});
}

// Reads the fields that NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID share. Returns the fault, or
// null.
const char* read_new_connection_id(Reader& reader, NewConnectionIdFrame& frame) {
  frame.sequence = reader.read_varint();
  frame.retire_prior_to = reader.read_varint();
  const std::uint8_t length = reader.read_u8();
  const Bytes id = reader.read_bytes(length);
  const Bytes reset_token = reader.read_bytes(frame.reset_token.size());
  if (!reader.ok()) return "frame is truncated";
  // RFC 9000 §19.15.
  if (length < 1 || length > ConnectionId::k_max_length) {
    return "connection id is not of 1 to 20 bytes";
  }
  if (frame.retire_prior_to > frame.sequence) {
    return "retire_prior_to is above the sequence number";
  }
  frame.id = ConnectionId(id);
  std::ranges::copy(reset_token, frame.reset_token.begin());
  return nullptr;
}

Decoded decode_new_connection_id(Reader& reader) {
  NewConnectionIdFrame frame;
  if (const char* fault = read_new_connection_id(reader, frame)) {
    return encoding_error(FrameType::kNewConnectionId, fault);
  }
  return Frame{frame};
}

template <typename F>
Decoded decode_path_data(Reader& reader, FrameType type) {
  F frame;
  const Bytes data = reader.read_bytes(frame.data.size());
  std::ranges::copy(data, frame.data.begin());
  return complete(reader, type, frame);
}

Decoded decode_connection_close(Reader& reader, FrameType type) {
  ConnectionCloseFrame frame;
  frame.application = type == FrameType::kConnectionCloseApplication;
  frame.error = reader.read_varint();
  if (!frame.application) frame.frame_type = reader.read_varint();
  frame.reason = reader.read_bytes(reader.read_varint());
  return complete(reader, type, frame);
}

Decoded decode_stream(Reader& reader, FrameType type) {
  StreamFrame frame;
  if (read_stream_frame(reader, frame)) return Frame{frame};
  return encoding_error(type, "frame is truncated or ends beyond 2^62-1");
}

// Reads a path id of a multipath frame. None is above 2^32-1 (RFC 10069 §3.1), so a larger one
// exceeds every announced maximum (§4).
PathId read_path_id(Reader& reader, bool& valid) {
  const std::uint64_t value = reader.read_varint();
  valid = valid && value <= UINT32_MAX;
  return {static_cast<std::uint32_t>(value)};
}

template <typename F>
Decoded complete_path_frame(const Reader& reader, FrameType type, const F& frame, bool valid) {
  if (reader.ok() && !valid) return violation(type, "path id above 2^32-1");
  return complete(reader, type, frame);
}

Decoded decode_path_ack(Reader& reader, FrameType type) {
  PathAckFrame frame;
  bool valid = true;
  frame.path = read_path_id(reader, valid);
  if (!read_ack_body(reader, type == FrameType::kPathAckEcn, frame.ack)) {
    return encoding_error(type, "frame is truncated or reports a negative packet number");
  }
  return complete_path_frame(reader, type, frame, valid);
}

// Decodes the frames of RFC 10069 §4 with a path id and at most one more number.
template <typename F>
Decoded decode_path_frame(Reader& reader, FrameType type) {
  bool valid = true;
  F frame{read_path_id(reader, valid)};
  if constexpr (requires { frame.sequence; }) frame.sequence = reader.read_varint();
  if constexpr (requires { frame.next_sequence; }) frame.next_sequence = reader.read_varint();
  if constexpr (requires { frame.error; }) frame.error = reader.read_varint();
  if constexpr (requires { frame.status; }) {
    frame.status =
        type == FrameType::kPathStatusBackup ? PathStatus::kBackup : PathStatus::kAvailable;
  }
  return complete_path_frame(reader, type, frame, valid);
}

Decoded decode_path_new_connection_id(Reader& reader) {
  constexpr FrameType type = FrameType::kPathNewConnectionId;
  PathNewConnectionIdFrame frame;
  bool valid = true;
  frame.path = read_path_id(reader, valid);
  if (const char* fault = read_new_connection_id(reader, frame.issued)) {
    return encoding_error(type, fault);
  }
  return complete_path_frame(reader, type, frame, valid);
}

// Reads a backend id. An impossible id exceeds the maximum that every receiver has.
BackendId read_backend_id(Reader& reader, bool& valid) {
  const std::uint64_t value = reader.read_varint();
  valid = valid && value <= BackendId::k_maximum;
  return {static_cast<std::uint32_t>(value)};
}

// Reads an address. Returns the fault, or null.
const char* read_backend_address(Reader& reader, Address& address) {
  const std::uint8_t version = reader.read_u8();
  if (reader.ok() && version != 4 && version != 6) return "neither IPv4 nor IPv6";
  address.family = version == 4 ? Address::Family::kIpv4 : Address::Family::kIpv6;
  std::ranges::copy(reader.read_bytes(version == 4 ? 4 : 16), address.ip.begin());
  address.port = reader.read_u16();
  if (!reader.ok()) return "frame is truncated";
  if (!leads_to_one_host(address)) return "address of no single host";
  return address.port == 0 ? "port 0" : nullptr;
}

Decoded decode_backend_offer(Reader& reader) {
  constexpr FrameType type = FrameType::kBackendOffer;
  BackendOfferFrame frame;
  bool valid = true;
  frame.backend = read_backend_id(reader, valid);
  frame.sequence = reader.read_varint();
  frame.path = read_path_id(reader, valid);
  if (const char* fault = read_backend_address(reader, frame.address)) {
    return encoding_error(type, fault);
  }
  if (!valid) return violation(type, "backend id above 63 or path id above 2^32-1");
  return Frame{frame};
}

Decoded decode_backend_withdraw(Reader& reader) {
  constexpr FrameType type = FrameType::kBackendWithdraw;
  bool valid = true;
  BackendWithdrawFrame frame{read_backend_id(reader, valid)};
  frame.sequence = reader.read_varint();
  frame.reason = reader.read_varint();
  if (reader.ok() && !valid) return violation(type, "backend id above 63");
  return complete(reader, type, frame);
}

Decoded decode_backend_abandon(Reader& reader) {
  constexpr FrameType type = FrameType::kBackendAbandon;
  bool valid = true;
  BackendAbandonFrame frame{read_path_id(reader, valid)};
  frame.error = reader.read_varint();
  frame.use.received = reader.read_varint();
  frame.use.sent = reader.read_varint();
  frame.use.streams = reader.read_varint();
  return complete_path_frame(reader, type, frame, valid);
}

Decoded decode_ack_frequency(Reader& reader) {
  AckFrequencyFrame frame{.sequence = reader.read_varint()};
  frame.threshold = reader.read_varint();
  frame.max_ack_delay = reader.read_varint();
  frame.reordering_threshold = reader.read_varint();
  return complete(reader, FrameType::kAckFrequency, frame);
}

Decoded decode_ack(Reader& reader, FrameType type) {
  AckFrame frame;
  if (read_ack_frame(reader, frame)) return Frame{frame};
  return encoding_error(type, "frame is truncated or reports a negative packet number");
}

Decoded decode_body(Reader& reader, FrameType type) {
  switch (type) {
    case FrameType::kPadding:
      return decode_padding(reader);
    case FrameType::kPing:
      return Frame{PingFrame{}};
    case FrameType::kResetStream:
    case FrameType::kResetStreamAt:
      return decode_reset_stream(reader, type);
    case FrameType::kStopSending: {
      StopSendingFrame frame{{reader.read_varint()}};
      frame.error = reader.read_varint();
      return complete(reader, type, frame);
    }
    case FrameType::kCrypto:
      return decode_crypto(reader);
    case FrameType::kNewToken:
      return decode_new_token(reader);
    case FrameType::kMaxData:
      return complete(reader, type, MaxDataFrame{reader.read_varint()});
    case FrameType::kMaxStreamData: {
      MaxStreamDataFrame frame{{reader.read_varint()}};
      frame.maximum = reader.read_varint();
      return complete(reader, type, frame);
    }
    case FrameType::kMaxStreamsBidi:
    case FrameType::kMaxStreamsUni:
      return decode_stream_count<MaxStreamsFrame>(reader, type);
    case FrameType::kDataBlocked:
      return complete(reader, type, DataBlockedFrame{reader.read_varint()});
    case FrameType::kStreamDataBlocked: {
      StreamDataBlockedFrame frame{{reader.read_varint()}};
      frame.limit = reader.read_varint();
      return complete(reader, type, frame);
    }
    case FrameType::kStreamsBlockedBidi:
    case FrameType::kStreamsBlockedUni:
      return decode_stream_count<StreamsBlockedFrame>(reader, type);
    case FrameType::kNewConnectionId:
      return decode_new_connection_id(reader);
    case FrameType::kRetireConnectionId:
      return complete(reader, type, RetireConnectionIdFrame{reader.read_varint()});
    case FrameType::kPathChallenge:
      return decode_path_data<PathChallengeFrame>(reader, type);
    case FrameType::kPathResponse:
      return decode_path_data<PathResponseFrame>(reader, type);
    case FrameType::kConnectionCloseTransport:
    case FrameType::kConnectionCloseApplication:
      return decode_connection_close(reader, type);
    case FrameType::kHandshakeDone:
      return Frame{HandshakeDoneFrame{}};
    case FrameType::kAckFrequency:
      return decode_ack_frequency(reader);
    case FrameType::kImmediateAck:
      return Frame{ImmediateAckFrame{}};
    case FrameType::kDatagram:
      return Frame{DatagramFrame{reader.read_rest()}};
    case FrameType::kDatagramWithLength:
      return complete(reader, type, DatagramFrame{reader.read_bytes(reader.read_varint())});
    case FrameType::kPathAck:
    case FrameType::kPathAckEcn:
      return decode_path_ack(reader, type);
    case FrameType::kPathAbandon:
      return decode_path_frame<PathAbandonFrame>(reader, type);
    case FrameType::kPathStatusBackup:
    case FrameType::kPathStatusAvailable:
      return decode_path_frame<PathStatusFrame>(reader, type);
    case FrameType::kPathNewConnectionId:
      return decode_path_new_connection_id(reader);
    case FrameType::kPathRetireConnectionId:
      return decode_path_frame<PathRetireConnectionIdFrame>(reader, type);
    case FrameType::kMaxPathId:
      return decode_path_frame<MaxPathIdFrame>(reader, type);
    case FrameType::kPathsBlocked:
      return decode_path_frame<PathsBlockedFrame>(reader, type);
    case FrameType::kPathCidsBlocked:
      return decode_path_frame<PathCidsBlockedFrame>(reader, type);
    case FrameType::kBackendOffer:
      return decode_backend_offer(reader);
    case FrameType::kBackendWithdraw:
      return decode_backend_withdraw(reader);
    case FrameType::kBackendAbandon:
      return decode_backend_abandon(reader);
    case FrameType::kTunnelReport:
      return complete(reader, type, TunnelReportFrame{reader.read_bytes(reader.read_varint())});
    default:
      return encoding_error(type, "unknown frame type");
  }
}

}  // namespace

bool read_ack_frame(Reader& reader, AckFrame& frame) {
  Reader next({reader.position(), reader.remaining()});
  const std::uint8_t type = next.read_u8();
  const bool has_ecn = type == static_cast<std::uint8_t>(FrameType::kAckEcn);
  if (!has_ecn && type != static_cast<std::uint8_t>(FrameType::kAck)) return false;
  if (!read_ack_body(next, has_ecn, frame)) return false;
  reader = next;
  return true;
}

bool read_path_ack_frame(Reader& reader, PathAckFrame& frame) {
  Reader next({reader.position(), reader.remaining()});
  const std::uint8_t type = next.read_u8();
  const bool has_ecn = type == static_cast<std::uint8_t>(FrameType::kPathAckEcn);
  if (!has_ecn && type != static_cast<std::uint8_t>(FrameType::kPathAck)) return false;
  bool valid = true;
  frame.path = read_path_id(next, valid);
  if (!valid || !read_ack_body(next, has_ecn, frame.ack)) return false;
  reader = next;
  return true;
}

AckRangeReader::AckRangeReader(const AckFrame& frame)
    : gaps_(frame.ranges),
      next_largest_(frame.largest),
      length_(frame.first_range),
      remaining_(frame.range_count + 1) {}

bool AckRangeReader::next(PacketNumber& first, PacketNumber& last) {
  if (remaining_ == 0) return false;
  last = next_largest_;
  first = last - length_;
  if (--remaining_ > 0) {
    next_largest_ = first - gaps_.read_varint() - 2;
    length_ = gaps_.read_varint();
  }
  return true;
}

Result<Frame, TransportError> decode_frame(Reader& reader, PacketType packet_type) {
  if (reader.empty()) return encoding_error(FrameType::kPadding, "no frame");
  Reader body = reader;
  const std::uint64_t value = body.read_varint();
  const auto type = static_cast<FrameType>(value);
  const std::size_t type_length = reader.remaining() - body.remaining();
  // RFC 9000 §12.4: the type must be written in its shortest form.
  if (body.ok() && type_length != varint_size(value)) {
    return violation(type, "frame type is not in its shortest form");
  }
  if (!body.ok()) return encoding_error(type, "frame type is truncated");
  if (packet_type == PacketType::kZeroRtt && forbidden_in_zero_rtt(type)) {
    return violation(type, "frame is not allowed in a 0-RTT packet");
  }
  if (type == FrameType::kAck || type == FrameType::kAckEcn) return decode_ack(reader, type);
  if ((value & ~std::uint64_t{7}) == static_cast<std::uint64_t>(FrameType::kStream)) {
    return decode_stream(reader, type);
  }
  reader = body;
  return decode_body(reader, type);
}

}  // namespace sheaf::quic
