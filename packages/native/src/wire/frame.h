#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "util/address.h"
#include "util/result.h"
#include "wire/backend_id.h"
#include "wire/transport_error.h"
#include "wire/types.h"

namespace sheaf::quic {

// One struct per frame, named and laid out like the wire (RFC 9000 §19, RFC 9221 §4,
// RFC 10069 §4). Byte spans point into the packet that was decoded.

struct PaddingFrame {
  std::size_t length = 1;  // consecutive PADDING frames are decoded as one
};
struct PingFrame {};

struct EcnCounts {
  std::uint64_t ect0 = 0;
  std::uint64_t ect1 = 0;
  std::uint64_t ce = 0;
  auto operator<=>(const EcnCounts&) const = default;
};

// ACK (RFC 9000 §19.3). The ranges stay encoded: `AckRangeReader` walks them without an allocation.
struct AckFrame {
  PacketNumber largest = 0;
  std::uint64_t delay = 0;        // in units of 2^ack_delay_exponent microseconds
  std::uint64_t range_count = 0;  // beyond the first
  std::uint64_t first_range = 0;
  Bytes ranges{};  // checked by the decoder: never below packet number 0
  std::optional<EcnCounts> ecn{};
};

// RESET_STREAM, or RESET_STREAM_AT (draft-ietf-quic-reliable-stream-reset-09 §4) if a part of the
// stream is to be delivered reliably
struct ResetStreamFrame {
  StreamId stream{};
  std::uint64_t error = 0;
  std::uint64_t final_size = 0;
  std::uint64_t reliable_size = 0;  // bytes from the stream's beginning
};
struct StopSendingFrame {
  StreamId stream{};
  std::uint64_t error = 0;
};
struct CryptoFrame {
  std::uint64_t offset = 0;
  Bytes data{};
};
struct NewTokenFrame {
  Bytes token{};
};
struct StreamFrame {
  StreamId stream{};
  std::uint64_t offset = 0;
  Bytes data{};
  bool fin = false;
};
struct MaxDataFrame {
  std::uint64_t maximum = 0;
};
struct MaxStreamDataFrame {
  StreamId stream{};
  std::uint64_t maximum = 0;
};
struct MaxStreamsFrame {
  Directionality directionality = Directionality::kBidirectional;
  std::uint64_t maximum = 0;
};
struct DataBlockedFrame {
  std::uint64_t limit = 0;
};
struct StreamDataBlockedFrame {
  StreamId stream{};
  std::uint64_t limit = 0;
};
struct StreamsBlockedFrame {
  Directionality directionality = Directionality::kBidirectional;
  std::uint64_t limit = 0;
};
struct NewConnectionIdFrame {
  std::uint64_t sequence = 0;
  std::uint64_t retire_prior_to = 0;
  ConnectionId id{};
  StatelessResetToken reset_token{};
};
struct RetireConnectionIdFrame {
  std::uint64_t sequence = 0;
};
using PathData = std::array<std::uint8_t, 8>;
struct PathChallengeFrame {
  PathData data{};
};
struct PathResponseFrame {
  PathData data{};
};
struct ConnectionCloseFrame {
  bool application = false;  // type 0x1d
  std::uint64_t error = 0;
  std::uint64_t frame_type = 0;  // type 0x1c only
  Bytes reason{};
};
struct HandshakeDoneFrame {};

// ACK_FREQUENCY (draft-ietf-quic-ack-frequency-11 §4): how often its sender wants acknowledgements.
struct AckFrequencyFrame {
  std::uint64_t sequence = 0;
  std::uint64_t threshold = 0;      // ack-eliciting packets that need no acknowledgement yet
  std::uint64_t max_ack_delay = 0;  // in microseconds
  // Packets that a gap may be overtaken by before an acknowledgement leaves at once; 0: any number
  std::uint64_t reordering_threshold = 0;
  // Encodes the layout of draft-iyengar-quic-delayed-ack-02 §4, which has the same type. Nothing
  // in the bytes tells them apart: the peer's transport parameter does.
  bool first_form = false;
};
// IMMEDIATE_ACK (draft-ietf-quic-ack-frequency-11 §5)
struct ImmediateAckFrame {};
// RFC 9221 §4
struct DatagramFrame {
  Bytes data{};
};

// PATH_ACK: an ACK frame for the packet number space of one path (RFC 10069 §4.1)
struct PathAckFrame {
  PathId path{};
  AckFrame ack{};
};
// RFC 10069 §4.2
struct PathAbandonFrame {
  PathId path{};
  std::uint64_t error = 0;
};
enum class PathStatus : std::uint8_t { kAvailable, kBackup };
// PATH_STATUS_BACKUP and PATH_STATUS_AVAILABLE, which share one sequence per path (RFC 10069 §4.3)
struct PathStatusFrame {
  PathId path{};
  std::uint64_t sequence = 0;
  PathStatus status = PathStatus::kAvailable;
};
// RFC 10069 §4.4
struct PathNewConnectionIdFrame {
  PathId path{};
  NewConnectionIdFrame issued{};
};
// RFC 10069 §4.5
struct PathRetireConnectionIdFrame {
  PathId path{};
  std::uint64_t sequence = 0;
};
// RFC 10069 §4.6. Path ids in the next three frames may exceed 32 bits on the wire; the decoder
// refuses them.
struct MaxPathIdFrame {
  PathId maximum{};
};
// RFC 10069 §4.7
struct PathsBlockedFrame {
  PathId maximum{};
};
struct PathCidsBlockedFrame {
  PathId path{};
  std::uint64_t next_sequence = 0;
};

// Offers the client a path to another server of the primary (docs/reference/wire.md).
struct BackendOfferFrame {
  BackendId backend{};
  std::uint64_t sequence = 0;  // one space per backend, with BACKEND_WITHDRAW
  PathId path{};
  Address address{};  // IPv4 or IPv6, without a zone
};
struct BackendWithdrawFrame {
  BackendId backend{};
  std::uint64_t sequence = 0;
  std::uint64_t reason = 0;
};
// What a client and a backend exchanged, in terms of the connection's flow control
struct BackendUse {
  std::uint64_t received = 0;  // bytes of streams that count against the client's MAX_DATA
  std::uint64_t sent = 0;      // bytes that count against the servers' MAX_DATA
  std::uint64_t streams = 0;   // bidirectional streams that the client opened there
};
// PATH_ABANDON for a backend's path, with the final account of it (docs/reference/wire.md)
struct BackendAbandonFrame {
  PathId path{};
  std::uint64_t error = 0;
  BackendUse use{};
};

// What a client tells about the tunnel that carries the connection: a report of the tunnel's other
// end, as it came (QUIC_INFO of TECC, NSDI 2024, §4.1; docs/reference/wire.md)
struct TunnelReportFrame {
  Bytes report;
};

using Frame =
    std::variant<PaddingFrame, PingFrame, AckFrame, ResetStreamFrame, StopSendingFrame, CryptoFrame,
                 NewTokenFrame, StreamFrame, MaxDataFrame, MaxStreamDataFrame, MaxStreamsFrame,
                 DataBlockedFrame, StreamDataBlockedFrame, StreamsBlockedFrame,
                 NewConnectionIdFrame, RetireConnectionIdFrame, PathChallengeFrame,
                 PathResponseFrame, ConnectionCloseFrame, HandshakeDoneFrame, DatagramFrame,
                 PathAckFrame, PathAbandonFrame, PathStatusFrame, PathNewConnectionIdFrame,
                 PathRetireConnectionIdFrame, MaxPathIdFrame, PathsBlockedFrame,
                 PathCidsBlockedFrame, BackendOfferFrame, BackendWithdrawFrame, BackendAbandonFrame,
                 TunnelReportFrame, AckFrequencyFrame, ImmediateAckFrame>;

// RFC 9000 §19, RFC 9221 §4, draft-ietf-quic-reliable-stream-reset-09 §4,
// draft-ietf-quic-ack-frequency-11 §10.2, RFC 10069 §4, and private ones (docs/reference/wire.md).
enum class FrameType : std::uint64_t {
  kPadding = 0x00,
  kPing = 0x01,
  kAck = 0x02,
  kAckEcn = 0x03,
  kResetStream = 0x04,
  kStopSending = 0x05,
  kCrypto = 0x06,
  kNewToken = 0x07,
  kStream = 0x08,  // to 0x0f: OFF 0x04, LEN 0x02, FIN 0x01
  kMaxData = 0x10,
  kMaxStreamData = 0x11,
  kMaxStreamsBidi = 0x12,
  kMaxStreamsUni = 0x13,
  kDataBlocked = 0x14,
  kStreamDataBlocked = 0x15,
  kStreamsBlockedBidi = 0x16,
  kStreamsBlockedUni = 0x17,
  kNewConnectionId = 0x18,
  kRetireConnectionId = 0x19,
  kPathChallenge = 0x1a,
  kPathResponse = 0x1b,
  kConnectionCloseTransport = 0x1c,
  kConnectionCloseApplication = 0x1d,
  kHandshakeDone = 0x1e,
  kImmediateAck = 0x1f,
  kResetStreamAt = 0x24,
  kDatagram = 0x30,  // to the end of the packet
  kDatagramWithLength = 0x31,
  kPathAck = 0x3e,
  kPathAckEcn = 0x3f,
  kAckFrequency = 0xaf,
  kPathAbandon = 0x3e75,
  kPathStatusBackup = 0x3e76,
  kPathStatusAvailable = 0x3e77,
  kPathNewConnectionId = 0x3e78,
  kPathRetireConnectionId = 0x3e79,
  kMaxPathId = 0x3e7a,
  kPathsBlocked = 0x3e7b,
  kPathCidsBlocked = 0x3e7c,
  kBackendOffer = 0x5ea0,
  kBackendWithdraw = 0x5ea1,
  kBackendAbandon = 0x5ea2,
  kTunnelReport = 0x5ea3,
};

constexpr FrameType type_of(const ResetStreamFrame& frame) {
  return frame.reliable_size > 0 ? FrameType::kResetStreamAt : FrameType::kResetStream;
}

}  // namespace sheaf::quic
