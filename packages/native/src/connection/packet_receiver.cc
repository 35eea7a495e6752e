#include "connection/packet_receiver.h"

#include <algorithm>

#include "connection/address_change.h"
#include "connection/frame_outcome.h"
#include "connection/local_parameters.h"
#include "connection/path_management.h"
#include "wire/packet_header.h"
#include "wire/violation.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_min_stateless_reset = 21;  // RFC 9000 §10.3

// RFC 9002 §2.
template <typename FrameStruct>
constexpr bool is_ack_eliciting =
    !std::is_same_v<FrameStruct, PaddingFrame> && !std::is_same_v<FrameStruct, AckFrame> &&
    !std::is_same_v<FrameStruct, PathAckFrame> &&
    !std::is_same_v<FrameStruct, ConnectionCloseFrame>;

// RFC 9000 §9.1.
template <typename FrameStruct>
constexpr bool is_probing =
    std::is_same_v<FrameStruct, PaddingFrame> || std::is_same_v<FrameStruct, PathChallengeFrame> ||
    std::is_same_v<FrameStruct, PathResponseFrame> ||
    std::is_same_v<FrameStruct, NewConnectionIdFrame>;

// RFC 10069 §2: its frames exist only when both sides offered multipath. `process_frames` adds the
// type of the frame.
TransportError not_negotiated() {
  return {TransportErrorCode::kFrameEncodingError, 0,
          "frame of multipath, which was not negotiated"};
}

TransportError no_multi_end() {
  return {TransportErrorCode::kFrameEncodingError, 0,
          "frame of Multi-End, which was not negotiated"};
}

}  // namespace

void PacketReceiver::receive(const Datagram& datagram) {
  const std::size_t size = datagram.payload.size();
  if (!parts_.early.keys && !parts_.handshake.established()) {
    return parts_.drop(DropReason::kNoKeys, size, now_);
  }
  const auto phase = parts_.close.phase();
  if (phase == CloseState::Phase::kDraining || phase == CloseState::Phase::kClosed) {
    return parts_.drop(DropReason::kClosing, size, now_);
  }
  if (size == 0) return parts_.drop(DropReason::kTooShort, size, now_);
  from_ = datagram.path;
  datagram_size_ = size;
  if (datagram.payload[0] & k_long_header_bit) return receive_early(datagram);
  const std::size_t header_without_number = 1 + parts_.paths.local_id_length();
  if (size < header_without_number + 4 + k_aead_tag_length) {
    return receive_short(datagram.payload);
  }
  receive_one_rtt(datagram);
}

// RFC 9000 §10.3: a stateless reset may be shorter than every packet that can be opened. The peer
// keeps it shorter than the packet that it could not open, such as a PING.
void PacketReceiver::receive_short(Bytes datagram) {
  if (datagram.size() < k_min_stateless_reset) {
    return parts_.drop(DropReason::kTooShort, datagram.size(), now_);
  }
  const Bytes token = datagram.last(sizeof(StatelessResetToken));
  if (parts_.paths.is_reset_token(token)) return reset_statelessly(token);
  parts_.drop(DropReason::kTooShort, datagram.size(), now_);
}

// Begins with a packet that names this path. Returns false when it cannot be from the peer.
bool PacketReceiver::begin(PathEntry* entry, const Datagram& datagram) {
  entry_ = entry;
  if (entry && entry->silenced()) return false;
  if (!entry || !entry->path) return true;
  Path& path = *entry->path;
  // RFC 9000 §9: a client ignores packets from addresses that are not its server's.
  if (parts_.role == Role::kClient && !AddressChange::expects(*entry, datagram.path.remote)) {
    return false;
  }
  path.learn_local_address(datagram.path.local);
  count_received(datagram);
  return true;
}

// RFC 9000 §8.1: bytes from an address count once for what may be sent there.
void PacketReceiver::count_received(const Datagram& datagram) {
  if (datagram.counted) return;
  if (datagram.path == entry_->path->addresses) {
    entry_->path->amplification.on_received(datagram.payload.size());
  } else {
    AddressChange::count_received(*entry_, datagram.path, datagram.payload.size());
  }
}

void PacketReceiver::hold(const Datagram& datagram) {
  const bool keys_will_come = parts_.role == Role::kServer && !parts_.handshake.confirmed();
  if (!keys_will_come || !parts_.held.hold(datagram, parts_.config.max_held_bytes)) {
    parts_.drop(DropReason::kNoKeys, datagram.payload.size(), now_);
  }
}

void PacketReceiver::receive_one_rtt(const Datagram& datagram) {
  const MutableBytes packet = datagram.payload;
  used_id_ = packet.subspan(1, parts_.paths.local_id_length());
  if (!begin(parts_.paths.find_by_local_id(used_id_), datagram)) {
    return parts_.drop(DropReason::kUnknownConnectionId, packet.size(), now_);
  }
  const bool has_keys = entry_ ? parts_.keys.can_receive(entry_->id) : parts_.keys.can_receive();
  if (!has_keys) return hold(datagram);
  // Decryption overwrites what may be the token of a stateless reset.
  StatelessResetToken last_bytes;
  std::ranges::copy(packet.last(last_bytes.size()), last_bytes.begin());
  const OpenedPacket opened = entry_ ? open_one_rtt(packet) : OpenedPacket{};
  if (opened.outcome == OpenedPacket::Outcome::kOpened) {
    if (!entry_->path) {
      if (!accept_path(datagram)) {
        return parts_.drop(DropReason::kUnknownConnectionId, packet.size(), now_);
      }
      count_received(datagram);
    }
    entry_->key_generation = std::max(entry_->key_generation, opened.generation);
    if (opened.began_phase) {
      parts_.keys.keep_old_keys(entry_->id, now_, parts_.key_probe_timeout(*entry_));
    }
    if (opened.key_updated) parts_.announce_shared_keys(*entry_);
    return accept(opened, PacketType::kOneRtt, datagram);
  }
  // RFC 9000 §10.3.1: what could be opened is no stateless reset.
  if (parts_.paths.is_reset_token(last_bytes)) return reset_statelessly(last_bytes);
  if (opened.outcome == OpenedPacket::Outcome::kError) {
    return parts_.fail({opened.error, 0, "key update or AEAD limit"}, now_);
  }
  parts_.drop(entry_ ? DropReason::kUndecryptable : DropReason::kUnknownConnectionId, packet.size(),
              now_);
}

// Makes the path of the first packet on a path id. RFC 10069 §3.1: only clients open paths, and no
// id is used twice.
bool PacketReceiver::accept_path(const Datagram& datagram) {
  if (entry_->abandonment || !parts_.handshake.confirmed()) return false;
  if (parts_.role == Role::kClient) {
    return parts_.policy && parts_.policy->accept_path(*entry_, datagram.path, now_);
  }
  PathManagement(parts_, now_).accept(*entry_, datagram.path);
  return true;
}

OpenedPacket PacketReceiver::open_one_rtt(MutableBytes packet) {
  const auto largest = entry_->path ? entry_->path->received.largest() : std::nullopt;
  return parts_.keys.open(packet, 1 + used_id_.size(), entry_->id,
                          largest.value_or(k_no_packet_number), now_);
}

void PacketReceiver::reset_statelessly(Bytes token) {
  // A node that forgot the connection ends its own path alone.
  if (PathEntry* apart = parts_.paths.apart_with_reset_token(token)) {
    return PathManagement(parts_, now_).end(*apart, TransportErrorCode::kNoViablePath, true);
  }
  // A primary that forgot the connection says nothing more. Its backends may go on with what they
  // send, until the client finds the primary silent (docs/internals/multi-end.md).
  if (parts_.paths.any_apart_open()) {
    return parts_.drop(DropReason::kUndecryptable, datagram_size_, now_);
  }
  parts_.close.start_draining(
      {.cause = ConnectionClosed::Cause::kStatelessReset, .reason = "stateless reset"}, now_,
      3 * parts_.probe_timeout());
}

void PacketReceiver::receive_early(const Datagram& datagram) {
  if (parts_.role == Role::kClient || !parts_.early.keys ||
      !begin(parts_.paths.find(PathId{0}), datagram)) {
    return parts_.drop(DropReason::kNoKeys, datagram.payload.size(), now_);
  }
  const OpenedPacket opened = parts_.early.keys->open(
      datagram.payload, entry_->path->received.largest().value_or(k_no_packet_number));
  if (opened.outcome == OpenedPacket::Outcome::kError) {
    return parts_.fail({opened.error, 0, "reserved header bits are set"}, now_);
  }
  if (opened.outcome != OpenedPacket::Outcome::kOpened) {
    return parts_.drop(DropReason::kUndecryptable, datagram.payload.size(), now_);
  }
  accept(opened, PacketType::kZeroRtt, datagram);
}

void PacketReceiver::accept(const OpenedPacket& packet, PacketType type, const Datagram& datagram) {
  if (!acceptable(packet, type, datagram)) return;
  ReceivedPackets& received = entry_->path->received;
  const bool newest = packet.number >= received.largest().value_or(0);
  count_packet(packet.number, type, datagram.payload.size());
  ecn_ = datagram.ecn;
  if (const TransportStatus status = process_payload(packet.payload, type); !status) {
    return punish(status.error());
  }
  received.on_received(packet.number, datagram.ecn, ack_eliciting_, now_,
                       parts_.config.max_ack_delay, confirms_overtaken_);
  if (ack_eliciting_) ++parts_.eliciting_packets;
  if (wants_acknowledgement_) received.acknowledge_at_once(now_);
  if (!probing_only_ && parts_.close.phase() == CloseState::Phase::kOpen) {
    follow_address_change(datagram, newest);
  }
  if (newest && type == PacketType::kOneRtt && datagram.path == entry_->path->addresses) {
    remember_used_id();
  }
}

// Drops duplicates. Ends the connection when reserved bits are set.
bool PacketReceiver::acceptable(const OpenedPacket& packet, PacketType type,
                                const Datagram& datagram) {
  if (entry_->path->received.is_duplicate(packet.number)) {
    parts_.drop(DropReason::kDuplicate, datagram.payload.size(), now_);
    return false;
  }
  if (type == PacketType::kOneRtt && (datagram.payload[0] & k_short_reserved_bits) != 0) {
    parts_.fail({TransportErrorCode::kProtocolViolation, 0, "reserved header bits are set"}, now_);
    return false;
  }
  return true;
}

void PacketReceiver::count_packet(PacketNumber number, PacketType type, std::size_t size) {
  Path& path = *entry_->path;
  parts_.close.on_packet_received();
  parts_.idle.on_received(now_);
  entry_->last_heard = now_;
  ++path.packets_received;
  path.bytes_received += size;
  if (parts_.log) {
    parts_.log->packet_received(now_, {path.id, number, size, type == PacketType::kZeroRtt});
  }
}

// Streams on a path apart belong to the node there, so the streams are told which path it is.
TransportStatus PacketReceiver::process_payload(Bytes payload, PacketType type) {
  if (!entry_->rules.apart) return process_frames(payload, type);
  parts_.streams.pinned().set_arrival(entry_->id);
  TransportStatus status = process_frames(payload, type);
  parts_.streams.pinned().set_arrival(std::nullopt);
  return status;
}

void PacketReceiver::remember_used_id() {
  // The id rarely changes, and comparing it costs less than writing it.
  if (!std::ranges::equal(entry_->used_id.view(), used_id_)) {
    entry_->used_id = ConnectionId(used_id_);
  }
}

TransportStatus PacketReceiver::process_frames(Bytes payload, PacketType type) {
  packet_type_ = type;
  ack_eliciting_ = false;
  confirms_overtaken_ = false;
  wants_acknowledgement_ = false;
  probing_only_ = true;
  if (payload.empty()) {
    return TransportError{TransportErrorCode::kProtocolViolation, 0, "packet without frames"};
  }
  for (Bytes rest = payload; !rest.empty();) {
    Reader reader(rest);
    StreamFrame stream;
    PathAckFrame acknowledgement;
    TransportStatus status;
    if (read_stream_frame(reader, stream)) {
      status = process_frame(stream);
    } else if (type == PacketType::kOneRtt && read_ack_frame(reader, acknowledgement.ack)) {
      status = process_frame(acknowledgement.ack);
    } else if (type == PacketType::kOneRtt && read_path_ack_frame(reader, acknowledgement)) {
      status = process_frame(acknowledgement);
    } else {
      const Result<Frame, TransportError> frame = decode_frame(reader, type);
      if (!frame) return frame.error();
      status = std::visit([this](const auto& decoded) { return process_frame(decoded); }, *frame);
    }
    if (!status) {
      // RFC 9000 §19.19: the type of the frame that was received, with its variants. Frames that
      // share a struct or a rule are judged as one.
      TransportError error = status.error();
      error.frame_type = Reader(rest).read_varint();
      return error;
    }
    rest = rest.last(reader.remaining());
  }
  return {};
}

template <typename FrameStruct>
TransportStatus PacketReceiver::process_frame(const FrameStruct& frame) {
  if (parts_.log) parts_.log->frame_received(frame);
  // After our own close only the peer's close matters.
  if (parts_.close.phase() != CloseState::Phase::kOpen &&
      !std::is_same_v<FrameStruct, ConnectionCloseFrame>) {
    return {};
  }
  if (is_ack_eliciting<FrameStruct>) ack_eliciting_ = true;
  if (!is_probing<FrameStruct>) probing_only_ = false;
  return entry_->rules.judged.contains<FrameStruct>() ? judge(frame) : handle(frame);
}

// Stands outside of the loop over frames: ordinary paths never come here.
template <typename FrameStruct>
[[gnu::noinline, gnu::cold]] TransportStatus PacketReceiver::judge(const FrameStruct& frame) {
  const PathRules& rules = entry_->rules;
  bool admitted = rules.admitted.contains<FrameStruct>();
  if constexpr (requires { frame.path; }) {
    if (rules.apart && frame.path != entry_->id) admitted = false;
  }
  if (!admitted) return violation("frame that this path does not admit");
  if (rules.for_policy.contains<FrameStruct>()) {
    return parts_.policy->on_frame(*entry_, Frame{frame}, now_);
  }
  return handle(frame);
}

// Makes the peer pay for a rule that it broke on the path of this packet.
[[gnu::cold]] void PacketReceiver::punish(const TransportError& error) {
  if (entry_->rules.apart) return PathManagement(parts_, now_).end(*entry_, error.code, false);
  if (parts_.policy && parts_.policy->on_violation(error, now_)) return;
  parts_.fail(error, now_);
}

void PacketReceiver::follow_address_change(const Datagram& datagram, bool newest) {
  // RFC 9000 §9.3: only the newest packet moves a path, and only a server follows.
  if (parts_.role != Role::kServer || !newest || datagram.path == entry_->path->addresses ||
      !parts_.handshake.confirmed() || !entry_->open()) {
    return;
  }
  AddressChange(parts_, now_).follow(*entry_, datagram.path, datagram.payload.size(), used_id_);
}

// --- frames -------------------------------------------------------------------------------------

TransportStatus PacketReceiver::handle(const PaddingFrame&) { return {}; }

TransportStatus PacketReceiver::handle(const PingFrame&) { return {}; }

TransportStatus PacketReceiver::handle(const AckFrame& frame) {
  // RFC 10069 §2.3: with multipath, ACK is about path 0, which may be gone.
  PathEntry* entry = parts_.paths.find(PathId{0});
  return entry && entry->open() ? acknowledge(*entry, frame) : TransportStatus{};
}

TransportStatus PacketReceiver::handle(const PathAckFrame& frame) {
  if (!parts_.paths.ids().enabled()) return not_negotiated();
  if (!parts_.paths.ids().permitted(frame.path)) {
    return violation("path id above the announced maximum");
  }
  PathEntry* entry = parts_.paths.find(frame.path);
  if (parts_.paths.ids().gone(frame.path) || (entry && entry->abandonment)) return {};
  if (!entry || !entry->path) {
    // Another node sends on the path.
    if (entry && entry->rules.for_policy.contains<PathAckFrame>()) {
      return parts_.policy->on_frame(*entry, Frame{frame}, now_);
    }
    return violation("acknowledges packets on a path that is not in use");
  }
  return acknowledge(*entry, frame.ack);
}

TransportStatus PacketReceiver::acknowledge(PathEntry& entry, const AckFrame& frame) {
  Path& path = *entry.path;
  // The exponent is at most 20 (RFC 9000 §18.2). A delay that is too large to represent is cut.
  const std::uint64_t microseconds = std::min(frame.delay, std::uint64_t{1} << 32)
                                     << parts_.peer_parameters.ack_delay_exponent;
  const LossDetection::AckContext context{
      .ack_delay = std::chrono::microseconds(std::min(microseconds, std::uint64_t{1} << 40)),
      .max_ack_delay = parts_.peer_max_ack_delay(entry),
      .overtaken_ack_delay = parts_.ack_requests.max_ack_delay(Duration::zero()),
      .handshake_confirmed = parts_.handshake.confirmed(),
      .application_limited = path.application_limited};
  FrameOutcome outcome(parts_, now_);
  const auto news = path.loss.settle(frame, context, now_, outcome);
  if (!news) return news.error();
  confirms_overtaken_ |= path.loss.runs_in_flight_below(frame.largest);
  if (*news == LossDetection::AckNews::kNone) return {};
  path.probe_credits = 0;
  path.batch_open = true;
  parts_.keys.on_acknowledged(path.id, frame.largest, now_);
  return {};
}

TransportStatus PacketReceiver::handle(const ResetStreamFrame& frame) {
  return parts_.streams.incoming().on_reset_stream(frame);
}

TransportStatus PacketReceiver::handle(const StopSendingFrame& frame) {
  return parts_.streams.incoming().on_stop_sending(frame);
}

TransportStatus PacketReceiver::handle(const CryptoFrame& frame) {
  TransportStatus status = parts_.crypto.on_frame(frame);
  if (!status || !parts_.crypto.readable()) return status;
  if (parts_.role == Role::kServer) {
    // RFC 9001 §6: no post-handshake message goes from client to server. 10 = unexpected_message.
    return TransportError{
        static_cast<TransportErrorCode>(
            static_cast<std::uint64_t>(TransportErrorCode::kCryptoErrorBase) + 10),
        0, "TLS message after the handshake"};
  }
  parts_.events.push_back(PostHandshakeCryptoEvent{});
  return {};
}

TransportStatus PacketReceiver::handle(const NewTokenFrame& frame) {
  if (parts_.role == Role::kServer) {
    return violation("NEW_TOKEN from a client");
  }
  parts_.address_token.assign(frame.token.begin(), frame.token.end());
  parts_.events.push_back(NewTokenEvent{});
  return {};
}

TransportStatus PacketReceiver::handle(const StreamFrame& frame) {
  if (packet_type_ == PacketType::kZeroRtt &&
      frame.stream.directionality() == Directionality::kBidirectional) {
    parts_.early.streams = std::max(parts_.early.streams, frame.stream.index() + 1);
  }
  return parts_.streams.incoming().on_stream(frame, now_);
}

TransportStatus PacketReceiver::handle(const MaxDataFrame& frame) {
  return parts_.streams.incoming().on_max_data(frame);
}

TransportStatus PacketReceiver::handle(const MaxStreamDataFrame& frame) {
  return parts_.streams.incoming().on_max_stream_data(frame);
}

TransportStatus PacketReceiver::handle(const MaxStreamsFrame& frame) {
  return parts_.streams.incoming().on_max_streams(frame);
}

TransportStatus PacketReceiver::handle(const DataBlockedFrame& frame) {
  return parts_.streams.incoming().on_data_blocked(frame);
}

TransportStatus PacketReceiver::handle(const StreamDataBlockedFrame& frame) {
  return parts_.streams.incoming().on_stream_data_blocked(frame);
}

TransportStatus PacketReceiver::handle(const StreamsBlockedFrame& frame) {
  return parts_.streams.incoming().on_streams_blocked(frame);
}

TransportStatus PacketReceiver::handle(const NewConnectionIdFrame& frame) {
  // RFC 10069 §4.4: with multipath, the frame is about path 0.
  return PathManagement(parts_, now_).on_frame(PathNewConnectionIdFrame{PathId{0}, frame});
}

TransportStatus PacketReceiver::handle(const RetireConnectionIdFrame& frame) {
  return PathManagement(parts_, now_)
      .on_frame(PathRetireConnectionIdFrame{PathId{0}, frame.sequence});
}

template <typename FrameStruct>
TransportStatus PacketReceiver::handle(const FrameStruct& frame) {
  if (!parts_.paths.ids().enabled()) return not_negotiated();
  return PathManagement(parts_, now_).on_frame(frame);
}

TransportStatus PacketReceiver::handle(const PathChallengeFrame& frame) {
  if (entry_->open()) {
    AddressChange(parts_, now_).on_challenge(*entry_, frame.data, from_, datagram_size_);
  }
  return {};
}

TransportStatus PacketReceiver::handle(const PathResponseFrame& frame) {
  using Shown = PathValidation::Shown;
  if (!entry_->open()) return {};
  const Shown shown = entry_->path->validation.on_response(frame, now_);
  if (shown == Shown::kAddress) entry_->path->amplification.validate();
  if (shown == Shown::kPath) PathManagement(parts_, now_).on_validated(*entry_);
  if (shown == Shown::kNothing) AddressChange(parts_, now_).on_response(*entry_, frame);
  return {};
}

TransportStatus PacketReceiver::handle(const BackendOfferFrame&) { return no_multi_end(); }

TransportStatus PacketReceiver::handle(const BackendWithdrawFrame&) { return no_multi_end(); }

TransportStatus PacketReceiver::handle(const BackendAbandonFrame&) { return no_multi_end(); }

TransportStatus PacketReceiver::handle(const TunnelReportFrame& frame) {
  constexpr auto k_malformed = TransportErrorCode::kFrameEncodingError;
  if (!parts_.config.follow_tunnel_reports) {
    return TransportError{k_malformed, 0, "TUNNEL_REPORT, which was not negotiated"};
  }
  if (entry_->rules.apart || !entry_->open()) return {};
  if (follow_tunnel_report(parts_, *entry_, frame.report, now_)) return {};
  return TransportError{k_malformed, 0, "malformed TUNNEL_REPORT"};
}

TransportStatus PacketReceiver::handle(const ConnectionCloseFrame& frame) {
  if (entry_->rules.apart) {
    // This side's own close has ended the path before.
    if (parts_.close.phase() == CloseState::Phase::kOpen) {
      PathManagement(parts_, now_).end(*entry_, frame.error, true);
    }
    return {};
  }
  const auto* reason = reinterpret_cast<const char*>(frame.reason.data());
  parts_.close.on_peer_closed(
      {.cause = frame.application ? ConnectionClosed::Cause::kPeerApplication
                                  : ConnectionClosed::Cause::kPeerError,
       .error = frame.error,
       .frame_type = frame.frame_type,
       .reason = std::string(reason, frame.reason.size())},
      entry_->id, now_, 3 * parts_.probe_timeout());
  return {};
}

TransportStatus PacketReceiver::handle(const HandshakeDoneFrame&) {
  if (parts_.role == Role::kServer) {
    return violation("HANDSHAKE_DONE from a client");
  }
  if (parts_.handshake.confirmed()) return {};
  parts_.handshake.confirm();
  parts_.keys.confirm_handshake();
  parts_.early.keys.reset();
  parts_.events.push_back(HandshakeConfirmedEvent{});
  AddressChange(parts_, now_).try_preferred(parts_.first_entry());
  return {};
}

TransportStatus PacketReceiver::handle(const AckFrequencyFrame& frame) {
  if (!parts_.config.take_ack_frequency) return not_negotiated();
  // draft-ietf-quic-ack-frequency-11 §4; RFC 9000 §18.2: the unit is a microsecond, and a
  // max_ack_delay of 2^14 ms or more is invalid.
  constexpr std::uint64_t k_invalid = 1000 << 14;
  const Duration delay = std::chrono::microseconds(std::min(frame.max_ack_delay, k_invalid));
  if (delay < min_ack_delay(parts_.config)) {
    return violation("asks for acknowledgements sooner than announced");
  }
  if (frame.max_ack_delay >= k_invalid) return violation("asks for a delay of 2^14 ms or more");
  if (parts_.largest_ack_frequency && frame.sequence <= *parts_.largest_ack_frequency) return {};
  parts_.largest_ack_frequency = frame.sequence;
  const auto bounded = [](std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
  };
  parts_.set_ack_frequency({.threshold = bounded(frame.threshold),
                            .reordering_threshold = bounded(frame.reordering_threshold),
                            .max_ack_delay = delay});
  return {};
}

TransportStatus PacketReceiver::handle(const ImmediateAckFrame&) {
  if (!parts_.config.take_ack_frequency) return not_negotiated();
  wants_acknowledgement_ = true;
  return {};
}

TransportStatus PacketReceiver::handle(const DatagramFrame& frame) {
  // RFC 9221 §3: the limit covers the whole frame.
  if (frame.data.size() + 1 > parts_.config.max_datagram_frame_size) {
    return violation("datagram larger than announced");
  }
  const bool announced = parts_.datagrams.has_unread();
  for (std::size_t dropped = parts_.datagrams.receive({frame.data, ecn_}); dropped > 0; --dropped) {
    parts_.drop(DropReason::kUnread, frame.data.size(), now_);
  }
  if (!announced && parts_.datagrams.has_unread()) parts_.events.push_back(DatagramReceivedEvent{});
  return {};
}

}  // namespace sheaf::quic
