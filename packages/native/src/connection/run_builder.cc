#include "connection/run_builder.h"

#include <algorithm>

#include "recovery/reserved_packets.h"

namespace sheaf::quic {

namespace {

// Packets, as many bytes of which a quiet connection has at most, the next one included: what a new
// one may send at once (RFC 9002 §7.2).
constexpr std::uint64_t k_few_packets = 10;

}  // namespace

std::size_t run_overhead(const ConnectionId& destination, StreamId stream) {
  constexpr std::size_t k_type = 1;
  constexpr std::size_t k_offset = 8;
  constexpr std::size_t k_packet_number = 4;
  const std::size_t header = k_type + destination.length + k_packet_number;
  return header + k_type + varint_size(stream.value) + k_offset + k_aead_tag_length;
}

bool RunBuilder::possible() const {
  return entry_.id == PathId{0} && parts_.paths.open_count() == 1 && !path_.validation.pending();
}

RunBuilder::Outcome RunBuilder::order(bool unsealed) {
  const Runs& runs = *parts_.runs;
  if (runs.turn_is_over(now_)) end_turn();
  const auto turn = parts_.streams.outgoing().peek_remote(selection_.opportunity(entry_));
  const bool probe = path_.probe_credits > 0;
  const Time earliest = runs.earliest(turn ? turn->sender : 0);
  if (earliest > now_ && !probe) {
    parts_.wait_for_pacer(earliest);
    return Outcome::kBlocked;
  }
  if (!turn) return Outcome::kNone;
  // Keys are used in the order of numbers, so packets with lower ones are sealed first.
  if (unsealed) return Outcome::kBlocked;
  if (runs.full()) {
    parts_.wait_for_pacer(now_);  // when the orders are taken
    return Outcome::kBlocked;
  }
  const std::size_t overhead = run_overhead(entry_.remote_ids.current(), turn->id);
  const RunExtent extent = extent_of(*turn, overhead);
  if (extent.count == 0) {
    path_.application_limited = false;
    if (extent.await_paced > 0) {
      parts_.wait_for_pacer(path_.pacer.time_of(extent.await_paced, now_));
    }
    return Outcome::kBlocked;
  }
  if (runs.turn().stream != turn->id) end_turn();
  number(*turn, extent, overhead);
  return Outcome::kOrdered;
}

void RunBuilder::end_turn() {
  const Runs::Turn turn = parts_.runs->end_turn();
  if (turn.packets == 0) return;
  parts_.streams.outgoing().end_turn(turn.stream, turn.packets, selection_.opportunity(entry_));
}

RunExtent RunBuilder::extent_of(const RemoteTurn& turn, std::size_t overhead) {
  const std::uint64_t window = path_.controller->window();
  const std::uint64_t used = path_.loss.bytes_in_flight() + reserved_;
  return parts_.runs->extent({.available = turn.segment.length,
                              .most_payload = largest_packet() - overhead,
                              .overhead = overhead,
                              .window = window,
                              .free = window > used ? window - used : 0,
                              .paced = path_.pacer.budget(now_),
                              .burst = path_.pacer.burst(),
                              .probe = path_.probe_credits > 0});
}

void RunBuilder::number(const RemoteTurn& turn, const RunExtent& extent, std::size_t overhead) {
  Runs& runs = *parts_.runs;
  const std::size_t packet = overhead + extent.payload;
  const Ecn mark = parts_.config.use_ecn ? path_.ecn.next_mark_of_run() : Ecn::kNotEct;
  const Duration wait = runs.limits().waits[turn.sender];
  const bool fin = turn.ends && extent.bytes() == turn.segment.length;
  numbering_.leave_hole_before(extent.count);
  const PacketNumber first =
      path_.loss.number_run({.time_sent = now_ + wait,
                             .bytes = static_cast<std::uint16_t>(packet),
                             .ack_eliciting = true,
                             .in_flight = true,
                             .ecn = mark,
                             .sender = turn.sender},
                            extent.count,
                            {.stream = turn.id,
                             .offset = turn.segment.offset,
                             .bytes_per_packet = static_cast<std::uint32_t>(extent.payload),
                             .fin = fin},
                            now_);
  numbering_.account(
      {.packets = extent.count, .bytes = extent.count * packet, .ack_eliciting = true}, mark);
  parts_.streams.outgoing().take_remote(turn, extent.bytes());
  if (parts_.log) log(first, extent.count, packet);
  // Numbers that could not be noted would be lost, and never used twice. That does not happen: all
  // packets with lower numbers are sealed.
  if (!parts_.keys.note_numbered_elsewhere(path_.id, first, extent.count)) return;
  runs.push({.sender = turn.sender,
             .stream = turn.id,
             .first = first,
             .count = static_cast<std::uint8_t>(extent.count),
             .payload = static_cast<std::uint16_t>(extent.payload),
             .offset = turn.segment.offset,
             .fin = fin,
             .generation = parts_.keys.generation_for_sending(path_.id),
             .ecn = mark,
             .time = now_,
             .wait = wait});
}

// Packets that overtake it, or that it overtakes, cost an acknowledgement each. What waits leaves
// after it, such as the few bytes by which HTTP/3 confirms the headers of a request.
bool RunBuilder::quiet(std::size_t size, std::size_t others) const {
  const std::uint64_t beside =
      path_.loss.bytes_in_flight() + parts_.streams.outgoing().unsent_bytes() + others * size;
  const std::uint64_t most = std::min(path_.controller->window(), k_few_packets * size);
  return beside + size <= most && !parts_.keys.wants_update(path_.id) &&
         !parts_.keys.confidentiality_limit_reached(path_.id);
}

std::optional<FirstPacket> RunBuilder::reserve_first(std::uint8_t sender, StreamId stream,
                                                     std::size_t others) {
  const std::size_t size = largest_packet();
  if (!possible() || !quiet(size, others)) return std::nullopt;
  if ((others + 1) * size > path_.amplification.allowance()) return std::nullopt;
  const auto payload =
      static_cast<std::uint16_t>(size - run_overhead(entry_.remote_ids.current(), stream));
  if (!parts_.streams.remote().begin(stream, sender, payload)) return std::nullopt;
  numbering_.leave_hole_before(1);
  // Without a mark: ECN validation must not depend on whether it is sent.
  const PacketNumber number = reserve_packet(path_.loss,
                                             {.bytes = static_cast<std::uint16_t>(size),
                                              .sender = sender,
                                              .stream = stream,
                                              .payload = payload},
                                             now_);
  if (parts_.log) log(number, 1, size);
  if (!parts_.keys.note_numbered_elsewhere(path_.id, number, 1)) {
    parts_.streams.remote().retract(stream);
    return std::nullopt;
  }
  return FirstPacket{number, payload};
}

void RunBuilder::on_first_sent(StreamId stream, const FirstPacket& first, bool fin) {
  OutgoingFrames& outgoing = parts_.streams.outgoing();
  const SentFrame frame = SentFrame::for_data(stream, 0, first.payload, fin);
  if (fin) parts_.streams.remote().end_begun(stream);
  if (parts_.streams.remote().acknowledged(stream) >= first.payload) {
    outgoing.on_acknowledged(frame);
  } else if (!send_reserved(path_.loss, first.number, fin, now_)) {
    outgoing.on_lost(frame);
  }
  const std::size_t size = first.payload + run_overhead(entry_.remote_ids.current(), stream);
  numbering_.account({.packets = 1, .bytes = size, .ack_eliciting = true}, Ecn::kNotEct);
}

void RunBuilder::log(PacketNumber first, std::size_t count, std::size_t bytes) {
  const SentPackets& sent = path_.loss.sent();
  for (PacketNumber number = first; number < first + count; ++number) {
    sent.for_each_frame(sent.at(number), [&](const SentFrame& frame) {
      parts_.log->packet_sent(now_, {path_.id, number, bytes, false}, {&frame, 1});
    });
  }
}

}  // namespace sheaf::quic
