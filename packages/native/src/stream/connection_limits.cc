#include "stream/connection_limits.h"

#include <algorithm>

#include "recovery/write_frame.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

PeerLimits::PeerLimits(const TransportParameters& parameters)
    : data(parameters.initial_max_data),
      // RFC 9000 §18.2 names these from the peer's point of view.
      stream_opened_here(parameters.initial_max_stream_data_bidi_remote),
      stream_opened_there(parameters.initial_max_stream_data_bidi_local),
      stream_unidirectional(parameters.initial_max_stream_data_uni),
      streams{parameters.initial_max_streams_bidi, parameters.initial_max_streams_uni},
      reset_stream_at(parameters.reset_stream_at) {}

bool PeerLimits::below(const PeerLimits& other) const {
  return data < other.data || stream_opened_here < other.stream_opened_here ||
         stream_opened_there < other.stream_opened_there ||
         stream_unidirectional < other.stream_unidirectional || streams[0] < other.streams[0] ||
         streams[1] < other.streams[1] || reset_stream_at < other.reset_stream_at;
}

std::uint64_t PeerLimits::for_stream(StreamId id, Role role) const {
  if (id.directionality() == Directionality::kUnidirectional) return stream_unidirectional;
  return id.initiator() == role ? stream_opened_here : stream_opened_there;
}

ConnectionLimits::ConnectionLimits(Role own_role, const StreamSetConfig& config,
                                   std::uint64_t max_window, EventQueue& events)
    : role(own_role),
      receive(std::min(config.initial_connection_window, max_window),
              std::min(config.max_connection_window, max_window)),
      events_(events),
      peer_streams_{PeerStreamLimit(config.max_bidirectional_streams),
                    PeerStreamLimit(config.max_unidirectional_streams)},
      announced_max_data_(receive.limit()) {
  receive.serve_streams();
}

void ConnectionLimits::fill(TransportParameters& parameters) const {
  parameters.initial_max_data = receive.limit();
  parameters.initial_max_streams_bidi = peer_streams_[0].limit();
  parameters.initial_max_streams_uni = peer_streams_[1].limit();
}

// --- what the peer allows --------------------------------------------------------------------

bool ConnectionLimits::raise_credit(std::uint64_t limit) {
  if (!send.raise(limit)) return false;
  cancel(k_data_blocked);
  return true;
}

void ConnectionLimits::add_credit(std::uint64_t bytes) {
  send.raise(send.limit() + std::min(bytes, k_max_varint - send.limit()));
  cancel(k_data_blocked);
}

void ConnectionLimits::note_streams_blocked(Directionality directionality) {
  if (local_streams(directionality).note_blocked()) request(streams_blocked_bit(directionality));
}

void ConnectionLimits::raise_local_streams(Directionality directionality, std::uint64_t limit) {
  SendLimit& local = local_streams(directionality);
  const bool exhausted = local.available() == 0;
  if (!local.raise(limit)) return;
  cancel(streams_blocked_bit(directionality));
  if (exhausted && local.available() > 0) events_.push_streams_available(directionality);
}

void ConnectionLimits::clear_peer_limits() {
  send.replace(0);
  for (SendLimit& limit : local_streams_) limit.replace(0);
}

// --- what is allowed to the peer -------------------------------------------------------------

void ConnectionLimits::announce_receive_window() {
  if (receive.limit() == announced_max_data_) return;
  announced_max_data_ = receive.limit();
  request(k_max_data);
}

void ConnectionLimits::request_max_streams_if_due(Directionality directionality) {
  if (!peer_streams(directionality).extension_due()) return;
  request(directionality == Directionality::kBidirectional ? k_max_streams_bidi
                                                           : k_max_streams_uni);
}

// --- frames about them -----------------------------------------------------------------------

bool ConnectionLimits::write_control(Writer& writer, SentPackets& sent) {
  using Kind = SentFrame::Kind;
  constexpr auto bidirectional = Directionality::kBidirectional;
  constexpr auto unidirectional = Directionality::kUnidirectional;
  // Only the primary announces the limits of the connection.
  due_ = due_now();
  if (due_ == 0) return true;
  const auto write = [&](ControlBit bit, const Frame& frame, Kind kind, std::uint64_t value) {
    if (!(due_ & bit)) return true;
    if (!write_frame(writer, sent, frame, SentFrame::for_limit(kind, value))) return false;
    cancel(bit);
    return true;
  };
  if (due_ & k_max_data) announced_max_data_ = receive.announce();
  if (due_ & k_max_streams_bidi) peer_streams_[0].announce();
  if (due_ & k_max_streams_uni) peer_streams_[1].announce();
  const std::uint64_t max_data = receive.limit();
  const std::uint64_t max_bidi = peer_streams_[0].limit();
  const std::uint64_t max_uni = peer_streams_[1].limit();
  const std::uint64_t data_limit = send.limit();
  const std::uint64_t bidi_limit = local_streams_[0].limit();
  const std::uint64_t uni_limit = local_streams_[1].limit();
  return write(k_max_data, MaxDataFrame{max_data}, Kind::kMaxData, max_data) &&
         write(k_max_streams_bidi, MaxStreamsFrame{bidirectional, max_bidi}, Kind::kMaxStreamsBidi,
               max_bidi) &&
         write(k_max_streams_uni, MaxStreamsFrame{unidirectional, max_uni}, Kind::kMaxStreamsUni,
               max_uni) &&
         write(k_data_blocked, DataBlockedFrame{data_limit}, Kind::kDataBlocked, data_limit) &&
         write(k_streams_blocked_bidi, StreamsBlockedFrame{bidirectional, bidi_limit},
               Kind::kStreamsBlockedBidi, bidi_limit) &&
         write(k_streams_blocked_uni, StreamsBlockedFrame{unidirectional, uni_limit},
               Kind::kStreamsBlockedUni, uni_limit);
}

bool ConnectionLimits::on_lost(const SentFrame& frame, bool wants_credit) {
  using Kind = SentFrame::Kind;
  const auto repeat = [&](bool still_true, std::uint8_t bit) {
    if (still_true) request(bit);
    return true;
  };
  const auto blocked = [&](const SendLimit& limit) {
    return frame.limit() == limit.limit() && limit.available() == 0;
  };
  switch (frame.kind()) {
    case Kind::kMaxData:
      return repeat(frame.limit() == receive.limit(), k_max_data);
    case Kind::kMaxStreamsBidi:
      return repeat(frame.limit() == peer_streams_[0].limit(), k_max_streams_bidi);
    case Kind::kMaxStreamsUni:
      return repeat(frame.limit() == peer_streams_[1].limit(), k_max_streams_uni);
    case Kind::kDataBlocked:
      return repeat(blocked(send) && wants_credit, k_data_blocked);
    case Kind::kStreamsBlockedBidi:
      return repeat(blocked(local_streams_[0]), k_streams_blocked_bidi);
    case Kind::kStreamsBlockedUni:
      return repeat(blocked(local_streams_[1]), k_streams_blocked_uni);
    default:
      return false;
  }
}

}  // namespace sheaf::quic
