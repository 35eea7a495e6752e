#include "connection/packet_builder.h"

#include <algorithm>
#include <cstring>

#include "connection/path_frames.h"
#include "connection/retransmission.h"
#include "recovery/write_frame.h"
#include "util/inplace_vector.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_max_batch = 64;
// The smallest size of datagrams that validate a path (RFC 9000 §14.1, §8.2.1).
constexpr std::size_t k_minimum_path_size = 1200;
// Bytes beyond the congestion window in which the challenges of the peer are answered
constexpr std::size_t k_answers_beyond = 3 * k_minimum_path_size;
constexpr std::size_t k_longest_packet_number = 4;  // bytes

}  // namespace

void PacketBuilder::build(TransmitBatch& batch) {
  if (parts_.can_send_early()) return build_early(batch);
  if (!parts_.keys.can_send(path_.id)) return;
  if (parts_.keys.wants_update(path_.id)) parts_.update_keys(entry_, now_);
  if (parts_.keys.confidentiality_limit_reached(path_.id)) {
    // RFC 9001 §6.6: no update was possible in time.
    parts_.fail({TransportErrorCode::kAeadLimitReached, 0, "confidentiality limit of the AEAD"},
                now_);
    return;
  }
  if (build_elsewhere(batch)) return;
  const auto probe_size = parts_.config.discover_mtu && parts_.handshake.confirmed()
                              ? path_.mtu_probe_due(batch.buffer.size(), now_)
                              : std::nullopt;
  if (probe_size && path_.may_probe(*probe_size, now_)) return build_mtu_probe(batch, *probe_size);
  reserved_ = probe_size ? path_.kept_for_probe(*probe_size) : 0;
  build_one_rtt(batch);
}

void PacketBuilder::build_last_words(TransmitBatch& batch) {
  if (!parts_.keys.can_send(path_.id)) return;
  if (!parts_.keys.confidentiality_limit_reached(path_.id)) build_one_rtt(batch);
}

void PacketBuilder::build_one_rtt(TransmitBatch& batch) {
  InplaceVector<SealJob, k_max_batch> jobs;
  std::size_t limit = path_.mtu.current();
  frames_due_ = path_management_due();
  if (parts_.config.repeat_late && parts_.paths.several_open() && !connection_wants_to_send() &&
      selection_.chooses(entry_)) {
    Retransmission(parts_, now_).repeat_late_on(entry_);
  }
  while (jobs.size() < std::min(batch.max_segments, k_max_batch)) {
    std::size_t room = std::min<std::uint64_t>(limit, path_.amplification.allowance());
    if (!path_.amplification.may_send() || batch.size + room > batch.buffer.size()) break;
    const Admission admission = admit(room);
    obey(admission);
    if (admission.extent == Admission::Extent::kNothing) break;
    if (parts_.runs) {
      const auto outcome = order_run(admission, !jobs.empty());
      if (outcome == RunBuilder::Outcome::kOrdered) continue;
      if (outcome == RunBuilder::Outcome::kBlocked) break;
    }
    const Ecn mark = parts_.config.use_ecn ? path_.ecn.next_mark() : Ecn::kNotEct;
    if (!jobs.empty() && mark != batch.ecn) break;

    Draft draft;
    if (!write_packet(batch.buffer.subspan(batch.size, room), admission, draft)) break;
    commit(draft, mark, false);
    const std::size_t size = draft.job.header_length + draft.job.payload_length + k_aead_tag_length;
    if (jobs.empty()) {
      batch.segment_size = size;
      batch.path = path_.addresses;
      batch.ecn = mark;
    }
    jobs.push_back(draft.job);
    batch.size += size;
    // A packet that is shorter than the others can only be the last of a batch (UDP segmentation
    // offload). One that is first may be short where the next one is as short: its datagram leaves
    // no room for another.
    if (size < batch.segment_size || (size < limit && !draft.more_alike)) break;
    limit = batch.segment_size;
  }
  if (!jobs.empty() && !parts_.keys.seal(jobs.view())) batch.size = 0;
}

// --- packets that other nodes send ---------------------------------------------------------------

// Frames of this node that leave before stream data. After a probe timeout they include a PING, so
// that a probe leaves here too: the other node may be the one that does not work.
bool PacketBuilder::frames_precede_data() const {
  return path_wants_to_send() || frames_due_ || parts_.streams.outgoing().has_control_to_send() ||
         parts_.datagrams.has_pending() || parts_.tunnel_report.has_pending() ||
         parts_.handshake_frames.has_pending() || parts_.crypto.has_pending() ||
         path_.received.ack_deadline() <= now_;
}

RunBuilder::Outcome PacketBuilder::order_run(const Admission& admission, bool unsealed) {
  RunBuilder runs(parts_, entry_, selection_, reserved_, now_);
  const bool chosen = admission.extent == Admission::Extent::kFull && admission.carries_data;
  if (!chosen || !runs.possible() || frames_precede_data()) return RunBuilder::Outcome::kNone;
  return runs.order(unsealed);
}

bool PacketBuilder::path_wants_to_send() const {
  return path_.ping_due || validation_due() || copies_due() || pinned_due() || own_frames_due();
}

bool PacketBuilder::validation_due() const {
  return path_.responses.due() || path_.validation.challenge_due(now_);
}

// RFC 10069 §3.1: no data before the addresses are validated.
bool PacketBuilder::copies_due() const {
  return !entry_.copies.empty() && !path_.validation.pending();
}

bool PacketBuilder::pinned_due() const {
  return parts_.streams.outgoing().has_pinned_to_send(path_.id) && !path_.validation.pending();
}

bool PacketBuilder::pinned_goes_first() const { return path_.loss.sent().next_number() % 2 == 0; }

bool PacketBuilder::path_management_due() const {
  return parts_.paths.frames_due() || parts_.policy_frames_due;
}

// Something waits that any path could carry.
bool PacketBuilder::connection_wants_to_send() const {
  return parts_.streams.outgoing().has_data_to_send() ||
         parts_.streams.outgoing().has_control_to_send() || parts_.datagrams.has_pending() ||
         parts_.tunnel_report.has_pending() || parts_.handshake_frames.has_pending() ||
         parts_.crypto.has_pending() || frames_due_;
}

PacketBuilder::Admission PacketBuilder::admit(std::size_t packet_size) {
  using Extent = Admission::Extent;
  path_.received.release(now_);
  const bool acknowledges = path_.received.ack_deadline() <= now_ || acknowledges_others();
  Admission admission{.extent = acknowledges ? Extent::kAcknowledgementOnly : Extent::kNothing};
  // The reply lets us forget ranges that we report again and again.
  admission.wants_reply = acknowledges && path_.loss.wants_acknowledgement();
  // A probe repeats data even where the window has no room (RFC 9002 §6.2.4), unless another path
  // has taken the data over.
  const bool probes = path_.probe_credits > 0 && !path_.validation.pending() &&
                      !Retransmission(parts_, now_).another_path_works(entry_);
  admission.carries_data =
      !entry_.rules.apart && connection_wants_to_send() && (probes || selection_.chooses(entry_));
  if (!admission.wants_reply && !path_wants_to_send() && !admission.carries_data) {
    admission.application_limited = path_.send_allowance(now_) >= packet_size;
    return admission;
  }
  const bool fits =
      path_.controller->window() >= path_.loss.bytes_in_flight() + packet_size + reserved_;
  admission.validates = validation_due();
  if (path_.probe_credits > 0 || (fits && path_.pacer.budget(now_) >= packet_size)) {
    admission.extent = Extent::kFull;
    return admission;
  }
  // Like a probe, it leaves beyond the window, and takes the acknowledgement along: what is in
  // flight may have gone to another address. A side asks three times at most. A peer may ask as
  // often as it likes, so only some answers leave so (RFC 9000 §8.2.2: unless constrained by
  // congestion control).
  const bool answers = path_.responses.due() &&
                       path_.loss.bytes_in_flight() < path_.controller->window() + k_answers_beyond;
  admission.validates = answers || path_.validation.challenge_due(now_);
  if (admission.validates) {
    admission.extent = Extent::kValidation;
    admission.carries_data = false;
    admission.application_limited = false;
    return admission;
  }
  if (fits) admission.next_send = path_.pacer.next_send_time(now_);
  admission.application_limited = false;
  return admission;
}

void PacketBuilder::obey(const Admission& admission) {
  if (admission.wants_reply) path_.ping_due = true;
  if (admission.application_limited) path_.application_limited = *admission.application_limited;
  parts_.wait_for_pacer(admission.next_send);
}

bool PacketBuilder::acknowledges_others() const {
  return !entry_.rules.apart &&
         std::ranges::any_of(parts_.paths.in_use(), [this](const auto& other) {
           return other != &entry_ && selection_.acknowledged_elsewhere(*other);
         });
}

// The other node of a path apart did not announce the extension.
bool PacketBuilder::may_demand_acknowledgement() const {
  return parts_.ack_requests.takes_immediate_ack() && !entry_.rules.apart;
}

bool PacketBuilder::grease_fixed_bit() {
  // RFC 9287 §3.1: an unpredictable value once the peer allows it.
  return parts_.peer_parameters.grease_quic_bit && parts_.grease.next(parts_.random);
}

void PacketBuilder::write_short_header(Writer& writer, SealJob& job,
                                       const ConnectionId& destination) {
  SentPackets& sent = path_.loss.sent();
  numbering_.leave_hole_before(1);
  job.packet = writer.position();
  job.path = path_.id;
  job.number = sent.next_number();
  const auto acknowledged = path_.loss.largest_acknowledged();
  // Packets of other nodes overtake this one, so the peer may expect a much higher number.
  const std::size_t length =
      path_.loss.runs_in_flight()
          ? k_longest_packet_number
          : packet_number_length(job.number, acknowledged.value_or(k_no_packet_number));
  const std::uint8_t fixed_bit = grease_fixed_bit() ? 0 : k_fixed_bit;
  writer.write_u8(
      static_cast<std::uint8_t>(fixed_bit | parts_.keys.key_phase_bit(path_.id) | (length - 1)));
  // Writes both at full length, which is faster. The next field overwrites what is too much. Every
  // packet has room for it.
  std::memcpy(writer.position(), destination.bytes.data(), destination.bytes.size());
  writer.advance(destination.length);
  store(writer.position(), static_cast<std::uint32_t>(job.number << (8 * (4 - length))));
  writer.advance(length);
  job.packet_number_length = static_cast<std::uint8_t>(length);
  job.header_length = static_cast<std::uint16_t>(writer.size());
}

bool PacketBuilder::write_packet(MutableBytes room, const Admission& admission, Draft& draft) {
  Writer writer(room);
  write_short_header(writer, draft.job, entry_.remote_ids.current());
  writer.truncate(k_aead_tag_length);
  SentPackets& sent = path_.loss.sent();
  // The ranges of an acknowledgement could fill what may be sent to an unvalidated address.
  if (admission.validates) write_validation_frames(writer, draft);
  const std::size_t before = sent.pending_frames().size();
  if (path_.received.ack_pending()) write_ack(writer, entry_);
  for (const auto& other : parts_.paths.in_use()) {
    if (other != &entry_ && !entry_.rules.apart && selection_.acknowledged_elsewhere(*other)) {
      write_ack(writer, *other);
    }
  }
  const std::size_t acknowledgements = sent.pending_frames().size() - before;
  draft.carries_data = admission.carries_data;
  if (admission.extent == Admission::Extent::kFull) write_frames(writer, draft);
  const std::size_t frames = sent.pending_frames().size();
  draft.ack_eliciting = frames > acknowledgements;
  if (frames == 0) {
    sent.discard_pending();
    return false;
  }
  finish_payload(writer, draft, room.size());
  return true;
}

void PacketBuilder::write_ack(Writer& writer, PathEntry& of) {
  // RFC 10069 §2.3: PATH_ACK for every path once multipath is in use.
  const bool multipath = parts_.paths.ids().enabled();
  const auto reported =
      of.path->received.write_ack(writer, parts_.config.ack_delay_exponent, now_,
                                  multipath ? std::optional(of.id) : std::nullopt);
  if (!reported) return;
  path_.loss.sent().add_frame(SentFrame::for_acknowledgement(
      multipath ? SentFrame::Kind::kPathAck : SentFrame::Kind::kAck, of.id, *reported));
}

bool PacketBuilder::write_frame(Writer& writer, const Frame& frame, const SentFrame& sent) {
  return quic::write_frame(writer, path_.loss.sent(), frame, sent);
}

void PacketBuilder::write_frames(Writer& writer, Draft& draft) {
  SentPackets& sent = path_.loss.sent();
  // A probe asks what has arrived, and its acknowledgement is not to be delayed.
  if (path_.probe_credits > 0 && may_demand_acknowledgement()) {
    write_frame(writer, ImmediateAckFrame{}, SentFrame::plain(SentFrame::Kind::kImmediateAck));
  }
  if (own_frames_due()) PathFrames(parts_).write_own(entry_, writer, sent);
  if (copies_due()) write_copies(writer);
  // The path's own streams and the others take turns at the first place, so that neither starves.
  const bool pinned = pinned_due();
  const bool pinned_first = pinned && pinned_goes_first();
  if (pinned_first) write_pinned(writer);
  if (draft.carries_data) write_connection_frames(writer, draft);
  if (pinned && !pinned_first) write_pinned(writer);
  // Sends PING only where nothing else elicits an acknowledgement.
  const auto is_acknowledgement = [](const SentFrame& frame) {
    return frame.kind() == SentFrame::Kind::kAck || frame.kind() == SentFrame::Kind::kPathAck;
  };
  if (path_.ping_due && std::ranges::all_of(sent.pending_frames(), is_acknowledgement)) {
    write_frame(writer, PingFrame{}, SentFrame::plain(SentFrame::Kind::kPing));
  }
  path_.ping_due = false;
}

void PacketBuilder::write_validation_frames(Writer& writer, Draft& draft) {
  draft.expand |= write_challenge(path_.validation, writer);
  draft.expand |= write_responses(path_.responses, writer);
}

bool PacketBuilder::write_challenge(PathValidation& validation, Writer& writer) {
  if (!validation.challenge_due(now_) || writer.remaining() < 9) return false;
  const bool full_size =
      writer.size() + writer.remaining() + k_aead_tag_length >= k_minimum_path_size;
  return write_frame(writer, validation.next_challenge(parts_.random, now_, full_size),
                     SentFrame::plain(SentFrame::Kind::kPathChallenge));
}

bool PacketBuilder::write_responses(PathResponses& responses, Writer& writer) {
  bool any = false;
  while (responses.due() &&
         write_frame(writer, responses.next(), SentFrame::plain(SentFrame::Kind::kPathResponse))) {
    responses.sent();
    any = true;
  }
  return any;
}

void PacketBuilder::write_connection_frames(Writer& writer, Draft& draft) {
  SentPackets& sent = path_.loss.sent();
  parts_.handshake_frames.write_done(writer, sent);
  if (parts_.crypto.has_pending()) parts_.crypto.write_frames(writer, sent);
  parts_.handshake_frames.write_token(writer, sent);
  // Nothing is sent for this frame alone.
  if (parts_.ack_requests.frame_due()) parts_.ack_requests.write_frame(writer, sent);
  if (frames_due_) {
    PathFrames(parts_).write(writer, sent);
    if (parts_.policy_frames_due) parts_.policy->write_frames(writer, sent);
    frames_due_ = path_management_due();
  }
  if (parts_.streams.outgoing().has_control_to_send())
    parts_.streams.outgoing().write_control(writer, sent);
  if (parts_.tunnel_report.has_pending()) parts_.tunnel_report.write_frame(writer, sent);
  if (parts_.datagrams.has_pending()) {
    while (const auto dropped = parts_.datagrams.discard_larger_than(
               path_.mtu.current() - draft.job.header_length - k_aead_tag_length)) {
      parts_.events.push_back(DatagramLostEvent{*dropped});
    }
    draft.more_alike =
        parts_.datagrams.write_frames(writer, sent) && parts_.datagrams.next_is_alike();
    if (parts_.datagrams.take_writable()) parts_.events.push_back(DatagramsWritableEvent{});
  }
  draft.first_data_frame = sent.pending_frames().size();
  if (parts_.streams.outgoing().has_data_to_send()) {
    parts_.streams.outgoing().write_data(writer, sent, selection_.opportunity(entry_));
  }
}

void PacketBuilder::write_pinned(Writer& writer) {
  parts_.streams.outgoing().write_pinned(writer, path_.loss.sent(), {.path = path_.id});
}

void PacketBuilder::write_copies(Writer& writer) {
  while (!entry_.copies.empty() &&
         parts_.streams.outgoing().write_copy(entry_.copies.front(), writer, path_.loss.sent())) {
    entry_.copies.pop_front();
  }
}

void PacketBuilder::queue_copies(const Draft& draft) {
  const auto frames = path_.loss.sent().pending_frames();
  for (std::size_t i = draft.first_data_frame; i < frames.size(); ++i) {
    if (frames[i].kind() != SentFrame::Kind::kStream) continue;
    if (parts_.streams.pinned().contains(frames[i].stream())) continue;
    for (const auto& other : parts_.paths.in_use()) {
      const bool rests = PathSelection::is_backup(*other) && !PathSelection::is_backup(entry_);
      if (other == &entry_ || !other->usable() || other->rules.apart || rests) continue;
      other->copies.push_back(frames[i]);
      if (other->copies.size() > PathEntry::k_max_copies) other->copies.pop_front();
    }
  }
}

void PacketBuilder::finish_payload(Writer& writer, Draft& draft, std::size_t room) {
  std::size_t payload = writer.size() - draft.job.header_length;
  // RFC 9001 §5.4.2: the header protection sample needs enough ciphertext.
  std::size_t wanted =
      payload + draft.job.packet_number_length < 4 ? 4 - draft.job.packet_number_length : payload;
  // Where the anti-amplification limit forbids that size (RFC 9000 §8.2.1), padding would prove
  // nothing, and take the room of the next challenge.
  if (draft.expand && room >= k_minimum_path_size) {
    wanted = std::max(wanted, k_minimum_path_size - draft.job.header_length - k_aead_tag_length);
  }
  if (wanted > payload) {
    std::memset(writer.position(), 0, wanted - payload);
    writer.advance(wanted - payload);
    payload = wanted;
  }
  draft.job.payload_length = static_cast<std::uint32_t>(payload);
}

std::size_t PacketBuilder::number_packet(const Draft& draft, Ecn mark, bool mtu_probe) {
  const std::size_t bytes = draft.job.header_length + draft.job.payload_length + k_aead_tag_length;
  SentPackets& sent = path_.loss.sent();
  if (parts_.log) {
    parts_.log->packet_sent(now_,
                            {path_.id, draft.job.number, bytes, !parts_.handshake.established()},
                            sent.pending_frames());
  }
  const Time leaves = parts_.runs ? now_ + parts_.runs->own_wait() : now_;
  sent.commit({.time_sent = leaves,
               .bytes = static_cast<std::uint16_t>(bytes),
               .ack_eliciting = draft.ack_eliciting,
               .in_flight = draft.ack_eliciting,
               .mtu_probe = mtu_probe,
               .ecn = mark});
  path_.loss.on_packet_sent(draft.job.number, now_);
  return bytes;
}

void PacketBuilder::commit(const Draft& draft, Ecn mark, bool mtu_probe) {
  if (parts_.path_scheduler->duplicates()) queue_copies(draft);
  if (parts_.runs && draft.first_data_frame < path_.loss.sent().pending_frames().size()) {
    parts_.runs->on_own_data();
  }
  const std::size_t bytes = number_packet(draft, mark, mtu_probe);
  numbering_.account({.packets = 1, .bytes = bytes, .ack_eliciting = draft.ack_eliciting}, mark);
}

void PacketBuilder::seal_single(TransmitBatch& batch, Draft& draft) {
  const std::size_t size = draft.job.header_length + draft.job.payload_length + k_aead_tag_length;
  batch.size = parts_.keys.seal({&draft.job, 1}) ? size : 0;
  batch.segment_size = batch.size;
}

void PacketBuilder::build_mtu_probe(TransmitBatch& batch, std::uint16_t size) {
  Draft draft;
  Writer writer(batch.buffer.first(size));
  write_short_header(writer, draft.job, entry_.remote_ids.current());
  writer.truncate(k_aead_tag_length);
  path_.loss.sent().add_frame(SentFrame::for_mtu_probe(size));
  encode(writer, may_demand_acknowledgement() ? Frame{ImmediateAckFrame{}} : Frame{PingFrame{}});
  const std::size_t padding = writer.remaining();
  std::memset(writer.position(), 0, padding);
  writer.advance(padding);
  draft.job.payload_length = static_cast<std::uint32_t>(writer.size() - draft.job.header_length);
  draft.ack_eliciting = true;
  commit(draft, Ecn::kNotEct, true);
  path_.mtu.on_probe_sent(size, now_);
  batch.path = path_.addresses;
  batch.ecn = Ecn::kNotEct;
  seal_single(batch, draft);
}

bool PacketBuilder::build_elsewhere(TransmitBatch& batch) {
  return (entry_.probed && entry_.probed->wants_to_send(now_) && build_to(*entry_.probed, batch)) ||
         (entry_.former && entry_.former->wants_to_send(now_) && build_to(*entry_.former, batch));
}

bool PacketBuilder::build_to(OtherAddresses& other, TransmitBatch& batch) {
  // The peer may have retired the id.
  if (!entry_.remote_ids.in_use(*other.destination)) other.destination.reset();
  if (!other.destination || !other.amplification.may_send()) return false;
  const std::size_t size = std::min<std::uint64_t>(
      {k_minimum_path_size, other.amplification.allowance(), batch.buffer.size()});
  Draft draft;
  draft.expand = true;
  Writer writer(batch.buffer.first(size));
  write_short_header(writer, draft.job, *other.destination);
  writer.truncate(k_aead_tag_length);
  write_responses(other.responses, writer);
  write_challenge(other.validation, writer);
  finish_payload(writer, draft, size);
  // The packet says nothing about the path whose packet number it uses. It is not in flight there,
  // gives no sample of its RTT (§9.4) and is never repeated (§13.3).
  number_packet(draft, Ecn::kNotEct, false);
  batch.path = other.addresses;
  batch.ecn = Ecn::kNotEct;
  seal_single(batch, draft);
  other.amplification.on_sent(batch.size);
  return true;
}

void PacketBuilder::build_close(TransmitBatch& batch) {
  const std::size_t size = std::min<std::uint64_t>(
      {k_minimum_path_size, batch.buffer.size(), path_.amplification.allowance()});
  const Frame frame = parts_.close.frame();
  constexpr std::size_t k_around_frame = 64;  // header, packet number and tag fit
  if (!parts_.keys.can_send(path_.id) || size < k_around_frame + encoded_size(frame)) return;
  Draft draft;
  Writer writer(batch.buffer.first(size));
  write_short_header(writer, draft.job, entry_.remote_ids.current());
  if (path_.received.ack_pending()) {
    // The peer hears no acknowledgement after the close, and would take what arrived for lost.
    Writer before(batch.buffer.first(size - k_aead_tag_length - encoded_size(frame)));
    before.advance(writer.size());
    write_ack(before, entry_);
    writer.advance(before.size() - writer.size());
  }
  encode(writer, frame);
  finish_payload(writer, draft, size);
  commit(draft, Ecn::kNotEct, false);
  batch.path = path_.addresses;
  batch.ecn = Ecn::kNotEct;
  seal_single(batch, draft);
}

void PacketBuilder::build_early(TransmitBatch& batch) {
  const std::size_t size = std::min(k_minimum_path_size, batch.buffer.size());
  // 0-RTT packets belong to path 0 (RFC 10069 §2.3), so they carry streams that are pinned to it.
  const bool pinned = pinned_due();
  const bool pinned_first = pinned && pinned_goes_first();
  const bool wanted = pinned || parts_.streams.outgoing().has_data_to_send() ||
                      parts_.streams.outgoing().has_control_to_send() ||
                      parts_.datagrams.has_pending();
  if (!wanted || path_.controller->window() < path_.loss.bytes_in_flight() + size) return;
  SentPackets& sent = path_.loss.sent();
  Draft draft;
  Writer writer(batch.buffer.first(size));
  draft.job = parts_.early.keys->begin(writer, entry_.remote_ids.current(),
                                       parts_.initial_local_id(), sent.next_number());
  writer.truncate(k_aead_tag_length);
  if (pinned_first) write_pinned(writer);
  if (parts_.streams.outgoing().has_control_to_send())
    parts_.streams.outgoing().write_control(writer, sent);
  if (parts_.datagrams.has_pending()) parts_.datagrams.write_frames(writer, sent);
  if (parts_.streams.outgoing().has_data_to_send()) {
    parts_.streams.outgoing().write_data(writer, sent, {.path = path_.id});
  }
  if (pinned && !pinned_first) write_pinned(writer);
  if (sent.pending_frames().empty()) return;
  draft.ack_eliciting = true;
  finish_payload(writer, draft, size);
  commit(draft, Ecn::kNotEct, false);
  parts_.early.keys->seal(draft.job);
  parts_.early.packets_sent = true;
  batch.path = path_.addresses;
  batch.ecn = Ecn::kNotEct;
  batch.size = draft.job.header_length + draft.job.payload_length + k_aead_tag_length;
  batch.segment_size = batch.size;
}

}  // namespace sheaf::quic
