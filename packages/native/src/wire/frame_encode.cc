#include <algorithm>
#include <cassert>

#include "wire/frame_codec.h"

namespace sheaf::quic {
namespace {

// Has the interface of Writer and only counts, so that a frame's size and bytes come from one
// description.
class Counter {
 public:
  void write_u8(std::uint8_t) { size_ += 1; }
  void write_varint(std::uint64_t value) { size_ += varint_size(value); }
  void write_bytes(Bytes bytes) { size_ += bytes.size(); }
  void write_header(const StreamFrameHeader& header) { size_ += encoded_size(header); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

void write_header(Counter& counter, const StreamFrameHeader& header) {
  counter.write_header(header);
}
void write_header(Writer& writer, const StreamFrameHeader& header) { encode(writer, header); }

template <typename Sink>
class FrameVisitor {
 public:
  explicit FrameVisitor(Sink& sink) : sink_(sink) {}

  void operator()(const PaddingFrame& frame) {
    for (std::size_t i = 0; i < frame.length; ++i) type(FrameType::kPadding);
  }
  void operator()(const PingFrame&) { type(FrameType::kPing); }
  void operator()(const AckFrame& frame) {
    type(frame.ecn ? FrameType::kAckEcn : FrameType::kAck);
    acknowledgement(frame);
  }
  void operator()(const ResetStreamFrame& frame) {
    type(type_of(frame));
    integers({frame.stream.value, frame.error, frame.final_size});
    if (frame.reliable_size > 0) sink_.write_varint(frame.reliable_size);
  }
  void operator()(const StopSendingFrame& frame) {
    type(FrameType::kStopSending);
    integers({frame.stream.value, frame.error});
  }
  void operator()(const CryptoFrame& frame) {
    type(FrameType::kCrypto);
    sink_.write_varint(frame.offset);
    prefixed(frame.data);
  }
  void operator()(const NewTokenFrame& frame) {
    type(FrameType::kNewToken);
    prefixed(frame.token);
  }
  void operator()(const StreamFrame& frame) {
    write_header(sink_, {frame.stream, frame.offset, frame.data.size(), frame.fin});
    sink_.write_bytes(frame.data);
  }
  void operator()(const MaxDataFrame& frame) {
    type(FrameType::kMaxData);
    sink_.write_varint(frame.maximum);
  }
  void operator()(const MaxStreamDataFrame& frame) {
    type(FrameType::kMaxStreamData);
    integers({frame.stream.value, frame.maximum});
  }
  void operator()(const MaxStreamsFrame& frame) {
    type(unidirectional(frame) ? FrameType::kMaxStreamsUni : FrameType::kMaxStreamsBidi);
    sink_.write_varint(frame.maximum);
  }
  void operator()(const DataBlockedFrame& frame) {
    type(FrameType::kDataBlocked);
    sink_.write_varint(frame.limit);
  }
  void operator()(const StreamDataBlockedFrame& frame) {
    type(FrameType::kStreamDataBlocked);
    integers({frame.stream.value, frame.limit});
  }
  void operator()(const StreamsBlockedFrame& frame) {
    type(unidirectional(frame) ? FrameType::kStreamsBlockedUni : FrameType::kStreamsBlockedBidi);
    sink_.write_varint(frame.limit);
  }
  void operator()(const NewConnectionIdFrame& frame) {
    type(FrameType::kNewConnectionId);
    connection_id(frame);
  }
  void operator()(const RetireConnectionIdFrame& frame) {
    type(FrameType::kRetireConnectionId);
    sink_.write_varint(frame.sequence);
  }
  void operator()(const PathChallengeFrame& frame) {
    type(FrameType::kPathChallenge);
    sink_.write_bytes(frame.data);
  }
  void operator()(const PathResponseFrame& frame) {
    type(FrameType::kPathResponse);
    sink_.write_bytes(frame.data);
  }
  void operator()(const ConnectionCloseFrame& frame) {
    type(frame.application ? FrameType::kConnectionCloseApplication
                           : FrameType::kConnectionCloseTransport);
    sink_.write_varint(frame.error);
    if (!frame.application) sink_.write_varint(frame.frame_type);
    prefixed(frame.reason);
  }
  void operator()(const HandshakeDoneFrame&) { type(FrameType::kHandshakeDone); }
  void operator()(const AckFrequencyFrame& frame) {
    type(FrameType::kAckFrequency);
    if (frame.first_form) {
      // Its tolerance counts the packet that elicits the acknowledgement, too.
      integers({frame.sequence, frame.threshold + 1, frame.max_ack_delay});
      sink_.write_u8(frame.reordering_threshold == 0 ? 1 : 0);  // ignore order
    } else {
      integers({frame.sequence, frame.threshold, frame.max_ack_delay, frame.reordering_threshold});
    }
  }
  void operator()(const ImmediateAckFrame&) { type(FrameType::kImmediateAck); }
  void operator()(const DatagramFrame& frame) {
    type(FrameType::kDatagramWithLength);
    prefixed(frame.data);
  }
  void operator()(const PathAckFrame& frame) {
    type(frame.ack.ecn ? FrameType::kPathAckEcn : FrameType::kPathAck);
    sink_.write_varint(frame.path.value);
    acknowledgement(frame.ack);
  }
  void operator()(const PathAbandonFrame& frame) {
    type(FrameType::kPathAbandon);
    integers({frame.path.value, frame.error});
  }
  void operator()(const PathStatusFrame& frame) {
    type(frame.status == PathStatus::kBackup ? FrameType::kPathStatusBackup
                                             : FrameType::kPathStatusAvailable);
    integers({frame.path.value, frame.sequence});
  }
  void operator()(const PathNewConnectionIdFrame& frame) {
    type(FrameType::kPathNewConnectionId);
    sink_.write_varint(frame.path.value);
    connection_id(frame.issued);
  }
  void operator()(const PathRetireConnectionIdFrame& frame) {
    type(FrameType::kPathRetireConnectionId);
    integers({frame.path.value, frame.sequence});
  }
  void operator()(const MaxPathIdFrame& frame) {
    type(FrameType::kMaxPathId);
    sink_.write_varint(frame.maximum.value);
  }
  void operator()(const PathsBlockedFrame& frame) {
    type(FrameType::kPathsBlocked);
    sink_.write_varint(frame.maximum.value);
  }
  void operator()(const PathCidsBlockedFrame& frame) {
    type(FrameType::kPathCidsBlocked);
    integers({frame.path.value, frame.next_sequence});
  }
  void operator()(const BackendOfferFrame& frame) {
    type(FrameType::kBackendOffer);
    integers({frame.backend.value, frame.sequence, frame.path.value});
    const bool ipv4 = frame.address.family == Address::Family::kIpv4;
    sink_.write_u8(ipv4 ? 4 : 6);
    sink_.write_bytes(Bytes(frame.address.ip).first(ipv4 ? 4 : 16));
    sink_.write_u8(static_cast<std::uint8_t>(frame.address.port >> 8));
    sink_.write_u8(static_cast<std::uint8_t>(frame.address.port));
  }
  void operator()(const BackendWithdrawFrame& frame) {
    type(FrameType::kBackendWithdraw);
    integers({frame.backend.value, frame.sequence, frame.reason});
  }
  void operator()(const BackendAbandonFrame& frame) {
    type(FrameType::kBackendAbandon);
    integers({frame.path.value, frame.error});
    integers({frame.use.received, frame.use.sent, frame.use.streams});
  }
  void operator()(const TunnelReportFrame& frame) {
    type(FrameType::kTunnelReport);
    prefixed(frame.report);
  }

 private:
  void type(FrameType value) { sink_.write_varint(static_cast<std::uint64_t>(value)); }
  void integers(std::initializer_list<std::uint64_t> values) {
    for (std::uint64_t value : values) sink_.write_varint(value);
  }
  void acknowledgement(const AckFrame& frame) {
    integers({frame.largest, frame.delay, frame.range_count, frame.first_range});
    sink_.write_bytes(frame.ranges);
    if (frame.ecn) integers({frame.ecn->ect0, frame.ecn->ect1, frame.ecn->ce});
  }
  void connection_id(const NewConnectionIdFrame& frame) {
    integers({frame.sequence, frame.retire_prior_to});
    sink_.write_u8(frame.id.length);
    sink_.write_bytes(frame.id.view());
    sink_.write_bytes(frame.reset_token);
  }
  void prefixed(Bytes bytes) {
    sink_.write_varint(bytes.size());
    sink_.write_bytes(bytes);
  }
  template <typename F>
  static bool unidirectional(const F& frame) {
    return frame.directionality == Directionality::kUnidirectional;
  }

  Sink& sink_;
};

std::size_t ecn_size(const std::optional<EcnCounts>& ecn) {
  return ecn ? varint_size(ecn->ect0) + varint_size(ecn->ect1) + varint_size(ecn->ce) : 0;
}

// Returns the encoded gap between two ranges. Gap and length are both stored one too small, and the
// gap counts from below the earlier range (RFC 9000 §19.3.1).
std::uint64_t gap_between(const AckRange& before, const AckRange& range) {
  assert(before.first >= range.last + 2 && range.last >= range.first);
  return before.first - range.last - 2;
}

// Returns how many of the ranges fit into `room` bytes.
std::size_t fitting_ranges(std::span<const AckRange> ranges, std::size_t fixed, std::size_t room) {
  std::size_t size = fixed;
  std::size_t count = 0;
  for (; count < ranges.size(); ++count) {
    const AckRange& range = ranges[count];
    size += varint_size(range.last - range.first);
    if (count > 0) size += varint_size(gap_between(ranges[count - 1], range));
    if (size + varint_size(count) > room) break;
  }
  return count;
}

}  // namespace

std::size_t encoded_size(const Frame& frame) {
  Counter counter;
  std::visit(FrameVisitor{counter}, frame);
  return counter.size();
}

void encode(Writer& writer, const Frame& frame) { std::visit(FrameVisitor{writer}, frame); }

std::size_t encode_ack(Writer& writer, std::span<const AckRange> ranges, std::uint64_t delay,
                       const std::optional<EcnCounts>& ecn, std::optional<PathId> path) {
  assert(!ranges.empty());
  const PacketNumber largest = ranges.front().last;
  const std::size_t fixed = 1 + (path ? varint_size(path->value) : 0) + varint_size(largest) +
                            varint_size(delay) + ecn_size(ecn);
  const std::size_t count = fitting_ranges(ranges, fixed, writer.remaining());
  if (count == 0) return 0;

  const FrameType plain = path ? FrameType::kPathAck : FrameType::kAck;
  writer.write_u8(static_cast<std::uint8_t>(plain) | (ecn ? 1 : 0));
  if (path) writer.write_varint(path->value);
  writer.write_varint(largest);
  writer.write_varint(delay);
  writer.write_varint(count - 1);
  writer.write_varint(largest - ranges.front().first);
  for (std::size_t i = 1; i < count; ++i) {
    writer.write_varint(gap_between(ranges[i - 1], ranges[i]));
    writer.write_varint(ranges[i].last - ranges[i].first);
  }
  if (ecn) {
    writer.write_varint(ecn->ect0);
    writer.write_varint(ecn->ect1);
    writer.write_varint(ecn->ce);
  }
  return count;
}

}  // namespace sheaf::quic
