#include "direct_return/own_recovery/path_sender.h"

#include <algorithm>

#include "util/inplace_vector.h"
#include "wire/frame_codec.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_sender_number_length = 4;
// A STREAM frame with an offset and without a length (RFC 9000 §19.8), as runs have
constexpr std::uint8_t k_sender_stream_frame = 0x0c;
constexpr std::uint8_t k_sender_stream_fin = 0x01;
constexpr std::size_t k_sender_offset_length = 8;
constexpr std::size_t k_max_sender_batch = 64;
// The gateway gathers acknowledgements for so long at most (LentPath).
constexpr Duration k_longest_gathering = 5ms;
// Packets between two numbers that are left out (RFC 9000 §21.4)
constexpr PacketNumber k_shortest_to_hole = 128;
constexpr PacketNumber k_hole_spread = 4096;
constexpr std::uint64_t k_least_first_flight = 2 * 1200;

// Writes the ranges of a report as an ACK frame has them (RFC 9000 §19.3.1).
AckFrame as_frame(const AckReport& report, MutableBytes buffer) {
  const auto ranges = report.acknowledged.view();
  AckFrame frame{.largest = ranges.front().end - 1,
                 .range_count = ranges.size() - 1,
                 .first_range = ranges.front().size() - 1,
                 .ecn = report.counts};
  Writer out(buffer);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    out.write_varint(ranges[i - 1].start - ranges[i].end - 1);
    out.write_varint(ranges[i].size() - 1);
  }
  frame.ranges = out.written();
  return frame;
}

}  // namespace

PathSender::PathSender(const Grant& grant, Random& random, CryptoProvider crypto, Time now)
    : id_(grant.keys.path),
      lent_(lent_path_of(grant.connection)),
      suite_(grant.keys.suite),
      random_(random),
      sealer_(grant.keys, crypto),
      phases_(grant.keys),
      usage_(grant.keys.suite),
      path_(grant.keys.path, grant.addresses,
            {.congestion = {.algorithm = CongestionAlgorithm::kNone},
             .initial_mtu = grant.max_datagram,
             .maximum_mtu = grant.max_datagram}),
      client_id_(grant.client_id),
      grease_fixed_bit_(grant.grease_fixed_bit),
      datagram_(grant.max_datagram),
      generation_begin_(grant.keys.first_number),
      hole_at_(1 + random.below(256)) {
  const std::uint64_t first_flight = grant.limit - grant.first_offset;
  path_.controller =
      std::make_unique<ShareController>(std::max(first_flight, k_least_first_flight), datagram_);
  path_.loss.set_controller(*path_.controller);
  path_.amplification.validate();
  path_.update_pacing(now);
}

void PathSender::add(const Grant& grant, std::unique_ptr<PayloadSource> source) {
  // The gateway itself sends what is before the source, the head of the response.
  const std::uint64_t begin = std::max(grant.first_offset, source->begin());
  streams_.try_emplace(grant.id, grant.stream, std::move(source), begin, grant.limit);
  changed_ = true;
}

void PathSender::remove(GrantId stream) {
  streams_.erase(stream);
  changed_ = true;
}

SentStream* PathSender::find(StreamId id) {
  const auto found =
      std::ranges::find_if(streams_, [id](const auto& entry) { return entry.second.id() == id; });
  return found == streams_.end() ? nullptr : &found->second;
}

void PathSender::on_limit(const Acknowledged& limit) {
  const auto stream = streams_.find(limit.grant);
  if (stream != streams_.end()) stream->second.on_word(limit.limit);
}

// --- what the gateway says -----------------------------------------------------------------------

void PathSender::on_report(const AckReport& report, Time now) {
  if (report.number <= report_) return;
  report_ = report.number;
  ecn_ = report.ecn;
  datagram_ = report.datagram;
  share().on_mtu_change(datagram_);
  max_ack_delay_ = report.max_ack_delay;
  share().tell(report.window, report.epoch, report.slow_start, now);
  answer_due_ = true;
  if (!report.acknowledged.empty()) {
    std::array<std::uint8_t, 16 * AckReport::k_max_ranges> buffer;
    const AckFrame frame = as_frame(report, buffer);
    const LossDetection::AckContext context{.ack_delay = report.ack_delay,
                                            .max_ack_delay = max_ack_delay_,
                                            .handshake_confirmed = true,
                                            .application_limited = path_.application_limited};
    // The time that the report spent at the gateway is none of the way's.
    const auto news = path_.loss.settle(frame, context, now - report.hold, *this);
    if (!news) {
      contradicted_ = true;
      return;
    }
    if (*news == LossDetection::AckNews::kPackets) {
      path_.probe_credits = 0;
      path_.loss.conclude(now, *this);
    }
  }
  path_.update_pacing(now);
}

bool PathSender::follow(const PhaseChange& change) {
  const auto keys = phases_.open(change);
  if (!keys) return false;
  changed_ = true;
  // A repeated message changes nothing, and is answered.
  if (sealer_.follow(*keys)) {
    usage_.on_new_key();
    generation_begin_ = path_.loss.sent().next_number();
  }
  return true;
}

// RFC 9000 §9.4: another host, another way.
void PathSender::follow(const AddressChange& change, Time now) {
  changed_ = true;
  if (change.number <= address_) return;
  address_ = change.number;
  client_id_ = change.client_id;
  paused_ = change.paused;
  const bool elsewhere = !change.addresses.remote.same_ip(path_.addresses.remote) ||
                         change.addresses.local != path_.addresses.local;
  path_.addresses = change.addresses;
  if (!elsewhere) return;
  path_.rtt = RttEstimator{};
  share().restart(k_least_first_flight, now);
  path_.ecn.restart();
  path_.update_pacing(now);
}

// --- frames --------------------------------------------------------------------------------------

void PathSender::on_frame_acknowledged(PathId, const SentFrame& frame) {
  if (frame.kind() != SentFrame::Kind::kStream) return;
  SentStream* stream = find(frame.stream());
  if (stream == nullptr || !stream->on_acknowledged(frame.offset(), frame.length())) return;
  const auto entry = std::ranges::find_if(
      streams_, [stream](const auto& known) { return &known.second == stream; });
  if (std::ranges::find(delivered_, entry->first) == delivered_.end()) {
    delivered_.push_back(entry->first);
  }
}

void PathSender::on_frame_lost(PathId, const SentFrame& frame) {
  if (frame.kind() != SentFrame::Kind::kStream) return;
  if (SentStream* stream = find(frame.stream())) stream->on_lost(frame.offset(), frame.length());
}

// --- packets -------------------------------------------------------------------------------------

// Streams take turns, packet by packet.
std::map<GrantId, SentStream>::iterator PathSender::next_stream() {
  auto stream = streams_.upper_bound(last_served_);
  for (std::size_t i = 0; i < streams_.size(); ++i, ++stream) {
    if (stream == streams_.end()) stream = streams_.begin();
    if (stream->second.next(1)) return stream;
  }
  return streams_.end();
}

bool PathSender::wants() const {
  return std::ranges::any_of(streams_,
                             [](const auto& entry) { return entry.second.next(1).has_value(); });
}

void PathSender::leave_hole() {
  SentPackets& sent = path_.loss.sent();
  if (sent.next_number() < hole_at_) return;
  sent.skip_number();
  hole_at_ = sent.next_number() + k_shortest_to_hole + random_.below(k_hole_spread);
}

// Writes one frame behind the header: stream data, or a PING as a probe.
std::size_t PathSender::write_payload(Writer& out) {
  const std::size_t before = out.size();
  SentPackets& sent = path_.loss.sent();
  for (auto entry = next_stream(); entry != streams_.end(); entry = next_stream()) {
    SentStream& stream = entry->second;
    const std::size_t header = 1 + varint_size(stream.id().value) + k_sender_offset_length;
    const auto piece = *stream.next(out.remaining() - header);
    if (stream.read(piece, {out.position() + header, piece.length}) == PayloadRead::kDone) {
      out.write_u8(piece.fin ? k_sender_stream_frame | k_sender_stream_fin : k_sender_stream_frame);
      out.write_varint(stream.id().value);
      out.write_varint(piece.offset, k_sender_offset_length);
      out.advance(piece.length);
      sent.add_frame(SentFrame::for_data(stream.id(), piece.offset,
                                         static_cast<std::uint32_t>(piece.length), piece.fin));
      stream.on_sent(piece);
      last_served_ = entry->first;
      return out.size() - before;
    }
    // What a source has promised is gone.
    broken_.push_back(entry->first);
    streams_.erase(entry);
  }
  if (!path_.ping_due) return 0;
  sent.add_frame(SentFrame::plain(SentFrame::Kind::kPing));
  encode(out, PingFrame{});
  return out.size() - before;
}

std::size_t PathSender::write_packet(MutableBytes room, Ecn mark, SealJob& job, Time now) {
  leave_hole();
  SentPackets& sent = path_.loss.sent();
  const PacketNumber number = sent.next_number();
  Writer out(room.first(room.size() - k_aead_tag_length));
  // The spin bit does not follow the client here, so it is random (RFC 9000 §17.4).
  const auto random = static_cast<std::uint8_t>(random_.next());
  const std::uint8_t fixed = grease_fixed_bit_ ? random & k_fixed_bit : std::uint8_t{k_fixed_bit};
  out.write_u8(static_cast<std::uint8_t>(fixed | (random & k_spin_bit) | sealer_.key_phase_bit() |
                                         (k_sender_number_length - 1)));
  out.write_bytes(client_id_.view());
  out.write_u32(static_cast<std::uint32_t>(number));
  const std::size_t header = out.size();
  const std::size_t payload = write_payload(out);
  if (payload == 0) return 0;
  const std::size_t size = out.size() + k_aead_tag_length;
  job = {.packet = room.data(),
         .payload_length = static_cast<std::uint32_t>(payload),
         .header_length = static_cast<std::uint16_t>(header),
         .packet_number_length = k_sender_number_length,
         .path = id_,
         .number = number};
  sent.commit({.time_sent = now,
               .bytes = static_cast<std::uint16_t>(size),
               .ack_eliciting = true,
               .in_flight = true,
               .ecn = mark});
  path_.loss.on_packet_sent(number, now);
  path_.ping_due = false;
  path_.pacer.on_sent(size, now);
  path_.bytes_sent += size;
  ++path_.packets_sent;
  if (ecn_) path_.ecn.on_sent(mark);
  if (path_.probe_credits > 0) --path_.probe_credits;
  return size;
}

bool PathSender::seal(std::span<const SealJob> jobs) {
  const PacketNumber first = jobs.front().number;
  const auto count = static_cast<std::uint32_t>(jobs.back().number - first + 1);
  const auto phase = static_cast<std::uint8_t>(sealer_.generation() % PhaseKeys::k_phase_names);
  usage_.on_sealed(jobs.size());
  return sealer_.permit(first, count, phase) && sealer_.seal(jobs);
}

bool PathSender::poll_transmit(TransmitBatch& batch, Time now) {
  batch.size = 0;
  if (!may_send()) return false;
  InplaceVector<SealJob, k_max_sender_batch> jobs;
  const std::size_t limit = datagram_;
  while (jobs.size() < std::min(batch.max_segments, k_max_sender_batch) &&
         batch.size + limit <= batch.buffer.size()) {
    const bool window = path_.controller->window() >= path_.loss.bytes_in_flight() + limit;
    const bool probes = path_.probe_credits > 0;
    if (!probes && !(window && path_.pacer.budget(now) >= limit)) {
      path_.application_limited = false;
      break;
    }
    const Ecn mark = ecn_ ? path_.ecn.next_mark() : Ecn::kNotEct;
    if (!jobs.empty() && mark != batch.ecn) break;
    SealJob job{};
    const std::size_t size = write_packet(batch.buffer.subspan(batch.size, limit), mark, job, now);
    if (size == 0) {
      path_.application_limited = window;
      break;
    }
    if (jobs.empty()) {
      batch.segment_size = size;
      batch.path = path_.addresses;
      batch.ecn = mark;
    }
    jobs.push_back(job);
    batch.size += size;
    // A short packet can only be the last of a batch (UDP segmentation offload).
    if (size < limit) break;
  }
  if (jobs.empty()) return false;
  changed_ = true;
  if (!seal(jobs.view())) batch.size = 0;
  return batch.size > 0;
}

// --- time ----------------------------------------------------------------------------------------

LossDetection::TimerTerms PathSender::timer_terms() const {
  return {.max_ack_delay = max_ack_delay_ + k_longest_gathering, .may_probe = may_send()};
}

Time PathSender::next_timeout() const {
  Time next = std::min(next_state(), path_.loss.next_timeout(timer_terms()));
  if (!delivered_.empty() || !broken_.empty()) return Time::min();
  const std::uint64_t room = path_.loss.bytes_in_flight() + datagram_;
  if (may_send() && path_.controller->window() >= room && wants()) {
    next = std::min(next, path_.pacer.time_of(datagram_, Time::min()));
  }
  return next;
}

void PathSender::on_timeout(Time now) {
  switch (path_.loss.on_timeout(timer_terms(), now, *this)) {
    case LossDetection::TimeoutAction::kNone:
      return;
    case LossDetection::TimeoutAction::kLossDetected:
      changed_ = true;
      break;
    case LossDetection::TimeoutAction::kProbe:
      path_.probe_credits = 2;
      path_.ping_due = true;
      path_.loss.mark_oldest_for_probe(*this);
      break;
  }
  path_.update_pacing(now);
}

// --- what the gateway hears ----------------------------------------------------------------------

Time PathSender::next_state() const {
  if (answer_due_) return Time::min();
  return told_at_ + (changed_ ? k_state_interval : k_repeat_interval);
}

SenderState PathSender::state(Time now) {
  told_at_ = now;
  changed_ = answer_due_ = false;
  const SentPackets& sent = path_.loss.sent();
  const ShareController& own = share();
  const auto largest = path_.loss.largest_acknowledged();
  const bool measured = path_.rtt.has_sample();
  return {.path = lent_,
          .report = report_,
          .address = address_,
          .generation = static_cast<std::uint32_t>(sealer_.generation()),
          .generation_begin = generation_begin_,
          .next = sent.next_number(),
          .settled = sent.oldest(),
          .acknowledged_end = largest ? *largest + 1 : 0,
          .delivered = own.delivered(),
          .in_flight = static_cast<std::uint32_t>(path_.loss.bytes_in_flight()),
          .latest_rtt = measured ? path_.rtt.latest() : Duration{},
          .minimum_rtt = measured ? path_.rtt.minimum() : Duration{},
          .smoothed_rtt = measured ? path_.rtt.smoothed() : Duration{},
          .acknowledged_epoch = own.acknowledged_epoch(),
          .congested_epoch = own.congested_epoch(),
          .congested_by_mark = own.congested_by_mark(),
          .persistent = own.persistent(),
          .wants = wants(),
          .limited = !path_.application_limited,
          .contradicted = contradicted_};
}

std::optional<Delivered> PathSender::poll_delivered() {
  while (!delivered_.empty()) {
    const GrantId id = delivered_.front();
    delivered_.pop_front();
    const auto stream = streams_.find(id);
    if (stream != streams_.end()) return Delivered{id, stream->second.delivered()};
  }
  return std::nullopt;
}

void PathSender::repeat_delivered() {
  delivered_.clear();
  for (const auto& [id, stream] : streams_) delivered_.push_back(id);
}

std::optional<GrantId> PathSender::poll_broken() {
  if (broken_.empty()) return std::nullopt;
  const GrantId id = broken_.front();
  broken_.pop_front();
  return id;
}

}  // namespace sheaf::quic
