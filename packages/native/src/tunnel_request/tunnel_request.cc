#include "tunnel_request/tunnel_request.h"

#include <algorithm>
#include <variant>

#include "http3/capsule_body.h"
#include "tunnel/standing_queue.h"

namespace sheaf::tunnel_request {

using http3::ErrorCode;
using http3::value_of;
using tunnel::DropReason;

namespace {

// The third bit tells the number of what is kept from the stream of a tunnel. No client gets so far
// with its streams.
constexpr std::uint64_t k_tunnel_mark = std::uint64_t{3} << 62;
constexpr std::uint64_t k_kept_mark = std::uint64_t{7} << 61;
// Of reports, which nobody keeps or misses
constexpr std::uint64_t k_report_identifier = UINT64_MAX;

// Capsules gathered for one call of the session
constexpr std::size_t k_max_gathered = 64 << 10;

// Bytes that a tunnel may send before the next one has its turn, and what a packet costs beside its
// payload
constexpr std::size_t k_quantum = 1500;
constexpr std::size_t k_packet_cost = 28;
std::size_t cost_of(const tunnel::Packet& packet) { return packet.payload.size() + k_packet_cost; }

// Bytes of the connection's datagrams that wait ahead of all tunnels. More of them would delay what
// is urgent and what another tunnel sends; fewer would leave nothing for a burst.
constexpr std::size_t k_waiting_ahead = 64 << 10;

// Where reports tell what left, less waits ahead: as much as leaves in this time
constexpr double k_seconds_ahead = 5e-3;
constexpr std::size_t k_least_waiting_ahead = 8 << 10;

// A connection knows what its path carries a few round trips after its handshake (RFC 8899), which
// may be the very time at which the first packets of 1200 bytes come.
constexpr quic::Duration k_discovery_time = std::chrono::seconds(1);
// No path carries more but one of jumbo frames.
constexpr std::size_t k_ethernet_payload = 1472;
// Bytes of packets that may wait for this: a first flight of ten (RFC 9002 §7.2)
constexpr std::size_t k_larger_limit = 16 << 10;

quic::SendChunk chunk_of(std::vector<std::uint8_t> bytes) {
  auto* owned = new std::vector<std::uint8_t>(std::move(bytes));
  return {*owned, [](void* owner) { delete static_cast<std::vector<std::uint8_t>*>(owner); },
          owned};
}

}  // namespace

TunnelRequest::TunnelRequest(const Place& place, const Settings& settings, Time now)
    : place_(place),
      mode_(settings.mode),
      takes_reports_(settings.reports == quic::TunnelReports::kTakes),
      contexts_(settings.contexts),
      opened_(now),
      capsules_(capsule_rule),
      queue_(settings.queue_limit, share()) {
  if (mode_ == quic::TunnelMode::kRetransmit && !place.way.kept) {
    place.way.kept.emplace(share());
  }
  if (settings.reports == quic::TunnelReports::kMakes)
    feedback_ = std::make_unique<TunnelFeedback>();
  place_.session.datagrams().limit_waiting(k_waiting_ahead);
  place_.session.datagrams().serve(place_.stream, *this);
  read_capsules(now);
}

TunnelRequest::~TunnelRequest() {
  place_.session.datagrams().release(place_.stream);
  if (listed_) std::erase(place_.way.waiting, this);
}

bool TunnelRequest::is_of_tunnel(std::uint64_t identifier) {
  return (identifier & k_tunnel_mark) == k_tunnel_mark;
}

std::optional<TunnelRequest::Lost> TunnelRequest::settle(SharedWay& way,
                                                         const http3::DatagramOutcome& outcome) {
  const auto [identifier, acknowledged] = outcome;
  if ((identifier & k_kept_mark) != k_kept_mark) {
    if (acknowledged) return std::nullopt;
    return Lost{{identifier & ~k_tunnel_mark}, {}};
  }
  if (!way.kept) return std::nullopt;
  const std::uint64_t number = identifier & ~k_kept_mark;
  if (acknowledged) {
    way.kept->forget(number);
    return std::nullopt;
  }
  return way.kept->take_lost(number);
}

// --- from the client ----------------------------------------------------------------------------

bool TunnelRequest::on_event(const http3::SessionEvent& event, Time now) {
  if (std::holds_alternative<http3::BodyReadable>(event)) {
    read_capsules(now);
    return true;
  }
  if (std::holds_alternative<http3::BodyWritable>(event)) {
    writable_ = true;
    place_.target.want_turn();
    return true;
  }
  if (std::holds_alternative<http3::MessageFinished>(event)) {
    read_capsules(now);
    if (!capsules_.at_boundary()) {
      fail(ErrorCode::kMessageError);
    } else {
      finish_writing();
    }
  } else if (const auto* reset = std::get_if<http3::StreamReset>(&event)) {
    if (!over_) place_.session.reset(place_.stream, value_of(ErrorCode::kNoError));
    finish(reset->error);
  } else if (const auto* stopped = std::get_if<http3::WritingStopped>(&event)) {
    finish(stopped->error);
  } else if (std::holds_alternative<http3::StreamClosed>(event)) {
    closed_ = true;
    finish(value_of(ErrorCode::kNoError));
  }
  return false;
}

void TunnelRequest::on_lost(const tunnel::Packet& kept, Time now) {
  if (kept.payload.empty()) return counts_.drop(DropReason::kClientLost);
  wait_in(repeats_, queue_.limit(), kept, now);
}

void TunnelRequest::read_capsules(Time now) {
  const auto take = [this](const http3::Capsule& capsule) {
    take_datagram(capsule.value, Ecn::kNotEct);
    return fault_;
  };
  if (!over_) {
    const std::uint32_t dropped = capsules_.dropped();
    const auto fault = http3::read_capsules(place_.session, place_.stream, capsules_, now, take);
    counts_.drop(DropReason::kTargetTooLarge, capsules_.dropped() - dropped);
    if (fault) fail(*fault);
  }
  if (over_) http3::discard_body(place_.session, place_.stream, now);
}

void TunnelRequest::take_datagram(Bytes datagram, Ecn outer) {
  if (over_ || fault_) return;
  const ClientDatagram read = read_client_datagram(datagram, contexts_, takes_reports_);
  if (read.kind == ClientDatagram::Kind::kMalformed) {
    fault_ = ErrorCode::kDatagramError;
  } else if (read.kind == ClientDatagram::Kind::kReport) {
    place_.target.on_report(read.payload);
  } else if (read.kind != ClientDatagram::Kind::kPayload) {
    counts_.drop(DropReason::kUnknownContext);
  } else {
    place_.target.send({read.payload, decapsulated(read.ecn, outer)});
  }
  place_.target.want_turn();
}

void TunnelRequest::on_turn() {
  if (fault_) fail(*fault_);
}

// --- to the client ------------------------------------------------------------------------------

void TunnelRequest::send(tunnel::Packet packet, Time now) {
  if (over_) return;
  // Nobody would learn of a mark that the peer does not pass on (RFC 9298 §3.1).
  if (!contexts_.carry_marks()) packet.ecn = Ecn::kNotEct;
  if (feedback_) feedback_->on_arrival(packet.payload.size(), now);
  pass_or_wait(packet, now);
  note_queue(now);
}

void TunnelRequest::pass_or_wait(const tunnel::Packet& packet, Time now) {
  if (!has_turn_to_take()) {
    const Passed passed = pass(packet);
    if (passed == Passed::kSent) return;
    if (passed == Passed::kTooLarge) {
      // Smaller packets overtake it: a probe for a larger path must not hold a page up.
      if (may_fit_later(packet.payload, now)) return wait_in(larger_, k_larger_limit, packet, now);
      return counts_.drop(DropReason::kClientTooLarge);
    }
  }
  note_wait(queue_.push(packet, now));
}

void TunnelRequest::wait_in(tunnel::SeldomQueue& queue, std::size_t limit,
                            const tunnel::Packet& packet, Time now) {
  if (!over_) note_wait(queue.push(packet, now, limit, share()));
}

void TunnelRequest::note_wait(bool taken) {
  if (!taken) return counts_.drop(DropReason::kQueueFull);
  if (std::exchange(listed_, true)) return;
  place_.way.waiting.push_back(this);
}

void TunnelRequest::send_all_waiting(SharedWay& way, Time now) {
  std::size_t stuck = 0;  // tunnels in a row that cannot send
  while (stuck < way.waiting.size() && !way.blocked) {
    TunnelRequest& next = *way.waiting.front();
    if (!std::exchange(next.served_, true)) way.served.push_back(&next);
    const bool went_on = next.take_turn(now);
    if (way.blocked) break;                                             // it keeps its turn
    if (way.waiting.empty() || way.waiting.front() != &next) continue;  // it is over
    way.waiting.pop_front();
    stuck = went_on ? 0 : stuck + 1;
    next.listed_ = next.waits();
    if (next.listed_) way.waiting.push_back(&next);
  }
  for (TunnelRequest* served : way.served) {
    served->served_ = false;
    served->note_queue(now);
    served->flush();
  }
  way.served.clear();
}

bool TunnelRequest::take_turn(Time now) {
  if (!std::exchange(in_turn_, true)) deficit_ += k_quantum;
  send_repeats();
  const bool larger_went = larger_.empty() || send_larger(now);
  const bool went_on = !place_.way.blocked && send_waiting(now);
  if (place_.way.blocked) return true;
  in_turn_ = false;
  // Who has nothing to send, or cannot, saves nothing up.
  if (!has_turn_to_take() || !went_on) deficit_ = 0;
  return went_on && (larger_went || has_turn_to_take());
}

// What is sent again waited for a round trip already, and keeps the connection inside from going
// on. Its age is no sign of a standing queue.
void TunnelRequest::send_repeats() {
  while (!repeats_.empty() && cost_of(repeats_.front()) <= deficit_) {
    const tunnel::Packet packet = repeats_.front();
    const Passed passed = pass(packet, true);
    if (passed == Passed::kNoRoom) return;
    if (passed == Passed::kTooLarge) {
      counts_.drop(DropReason::kClientTooLarge);
    } else {
      deficit_ -= cost_of(packet);
      ++counts_.repeated;
    }
    repeats_.pop();
  }
}

bool TunnelRequest::send_waiting(Time now) {
  while (!queue_.empty() && cost_of(queue_.front()) <= deficit_) {
    if (!tunnel::keep_front(queue_, law_, counts_, now)) continue;
    const tunnel::Packet packet = queue_.front();
    const Passed passed = pass(packet);
    if (passed == Passed::kNoRoom) return false;
    if (passed == Passed::kSent) {
      deficit_ -= cost_of(packet);
    } else if (may_fit_later(packet.payload, now)) {
      wait_in(larger_, k_larger_limit, packet, now);
    } else {
      counts_.drop(DropReason::kClientTooLarge);
    }
    queue_.pop();
  }
  if (queue_.empty()) law_.on_empty();
  return true;
}

bool TunnelRequest::send_larger(Time now) {
  while (!larger_.empty()) {
    const tunnel::Packet packet = larger_.front();
    const Passed passed = pass(packet);
    if (passed == Passed::kNoRoom) return false;
    if (passed == Passed::kTooLarge) {
      if (may_fit_later(packet.payload, now)) return false;
      counts_.drop(DropReason::kClientTooLarge);
    }
    larger_.pop();
  }
  return true;
}

bool TunnelRequest::may_fit_later(Bytes payload, Time now) const {
  return now < opened_ + k_discovery_time && payload.size() <= k_ethernet_payload;
}

TunnelRequest::Passed TunnelRequest::pass(const tunnel::Packet& packet, bool again) {
  // A client that takes no datagrams gets capsules (RFC 9297 §3.5). For another, what is too large
  // for a datagram is dropped: a capsule would hide what the path carries (RFC 9298 §6).
  const bool by_stream =
      mode_ == quic::TunnelMode::kStream || place_.session.datagrams().peer_lacks_datagrams();
  const Passed passed = by_stream ? pass_capsule(packet) : pass_datagram(packet);
  if (passed == Passed::kSent && !again) counts_.to_client.add(1, packet.payload.size());
  return passed;
}

TunnelRequest::Passed TunnelRequest::pass_datagram(const tunnel::Packet& packet) {
  const Bytes payload = packet.payload;
  if (place_.way.blocked) return Passed::kNoRoom;
  http3::RequestDatagrams& datagrams = place_.session.datagrams();
  const std::size_t room = datagrams.max_payload(place_.stream);
  if (payload.size() + k_context_size > room) return Passed::kTooLarge;
  std::optional<std::uint64_t> kept;
  if (mode_ == quic::TunnelMode::kRetransmit && !payload.empty()) {
    kept = place_.way.kept->keep(packet, place_.stream);
  }
  const std::uint64_t identifier = kept ? k_kept_mark | *kept : k_tunnel_mark | place_.stream.value;
  place_.way.blocked =
      !datagrams.send(place_.stream, payload, identifier, contexts_.id_for(packet.ecn));
  if (place_.way.blocked) {
    if (kept) place_.way.kept->forget(*kept);
    return Passed::kNoRoom;
  }
  place_.way.queued = true;
  return Passed::kSent;
}

void TunnelRequest::note_queue(Time now) {
  if (!feedback_ || over_) return;
  feedback_->note_waiting(waiting_bytes());
  if (feedback_->due(now)) send_report(now);
}

void TunnelRequest::send_report(Time now) {
  http3::RequestDatagrams& datagrams = place_.session.datagrams();
  const auto conditions = datagrams.conditions();
  // Tunnels whose packets wait share what leaves.
  const std::size_t sharing = std::max<std::size_t>(place_.way.waiting.size() + !listed_, 1);
  const Time oldest = queue_.empty() ? now : queue_.front_time();
  const quic::FeedbackReport made =
      feedback_->report(counts_,
                        {.waiting_bytes = waiting_bytes(),
                         .oldest_wait = now - oldest,
                         .outer = {.rate = conditions.rate / sharing,
                                   .minimum_round_trip = conditions.minimum_round_trip}},
                        now);
  std::array<std::uint8_t, quic::k_longest_feedback_report> buffer;
  quic::Writer writer(buffer);
  encode(writer, made);
  // One that finds no room is worth nothing later.
  if (datagrams.send(place_.stream, writer.written(), k_report_identifier, k_report_context)) {
    place_.way.queued = true;
  }
  const auto ahead =
      static_cast<std::size_t>(k_seconds_ahead * static_cast<double>(conditions.rate));
  datagrams.limit_waiting(std::clamp(ahead, k_least_waiting_ahead, k_waiting_ahead));
}

TunnelRequest::Passed TunnelRequest::pass_capsule(const tunnel::Packet& packet) {
  if (gathered_.size() + packet.payload.size() + k_capsule_overhead > k_max_gathered) flush();
  if (!writable_ || over_) return Passed::kNoRoom;
  append_capsule(gathered_, packet, contexts_);
  return Passed::kSent;
}

void TunnelRequest::flush() {
  if (gathered_.empty() || over_) return;
  const auto room =
      place_.session.write_body(place_.stream, chunk_of(std::exchange(gathered_, {})), false);
  writable_ = room && *room;
  place_.way.queued = true;
  if (!room) finish(value_of(ErrorCode::kRequestCancelled));
}

void TunnelRequest::release_spare() {
  queue_.release();
  if (place_.way.kept) place_.way.kept->release_spare();
  capsules_.release_spare();
}

// --- the end ------------------------------------------------------------------------------------

void TunnelRequest::end() {
  if (over_) return;
  finish_writing();
  // The client may have more to say, which nobody needs (RFC 9114 §4.1).
  place_.session.stop_reading(place_.stream, value_of(ErrorCode::kNoError));
}

void TunnelRequest::finish_writing() {
  if (over_) return;
  flush();
  place_.way.queued = true;
  static_cast<void>(place_.session.write_body(place_.stream, {}, true));
  finish(value_of(ErrorCode::kNoError));
}

void TunnelRequest::fail(ErrorCode code) {
  if (over_) return;
  place_.way.queued = true;
  place_.session.reset(place_.stream, value_of(code));
  finish(value_of(code));
}

void TunnelRequest::finish(std::uint64_t code) {
  if (over_) return;
  over_ = code;
  if (feedback_) place_.session.datagrams().limit_waiting(k_waiting_ahead);
  gathered_ = {};
  while (!queue_.empty()) queue_.pop();
  repeats_.clear();
  larger_.clear();
  capsules_ = http3::CapsuleReader(capsule_rule);
  release_spare();
  if (std::exchange(listed_, false)) std::erase(place_.way.waiting, this);
  place_.target.want_turn();
}

}  // namespace sheaf::tunnel_request
