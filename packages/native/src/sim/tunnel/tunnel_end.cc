#include "sim/tunnel/tunnel_end.h"

#include <cassert>

#include "wire/frame_codec.h"

namespace sheaf::quic {

namespace {

// Two packets in the connection keep it from falling idle between two calls.
constexpr std::size_t k_short_queue = 3200;
constexpr std::uint64_t k_short_stream = 3000;  // unsent bytes
constexpr std::size_t k_kept_payloads = 16 << 20;
// Quarter stream id and context id of a flow, in one byte each (RFC 9297 §2.1, RFC 9298 §5)
constexpr std::size_t k_framing = 2;
// Odd ids of contexts are the proxy's choice (RFC 9298 §4).
constexpr std::uint8_t k_packet_context = 0;
constexpr std::uint8_t k_report_context = 1;
// Identifies datagrams that nobody sends again.
constexpr std::uint64_t k_sent_once = UINT64_MAX;

// A queue that gets nothing for this long, and for as long as a few packets take to leave, gets
// nothing more for now.
constexpr Duration k_idle_before_copies = 5ms;
constexpr double k_packets_before_copies = 4;
constexpr double k_empty_link = 1.25;  // of the smallest round trip, at most, without a queue

InnerPacketQueueConfig with_framing(InnerPacketQueueConfig config) {
  config.framing = k_framing;
  return config;
}

std::optional<http3::CapsuleRule> datagrams_only(std::uint64_t type) {
  if (type != http3::k_capsule_datagram) return std::nullopt;
  return http3::k_datagram_rule;
}

}  // namespace

ConnectionConfig TunnelEnd::with_short_queue(ConnectionConfig config) {
  config.datagram_queue_limit = k_short_queue;
  return config;
}

TunnelEnd::TunnelEnd(Role role, const ConnectionConfig& config, const TunnelEndConfig& tunnel,
                     Random& random, Time now)
    : outer(role, with_short_queue(config), random, now),
      config_(tunnel),
      queues_(with_framing(tunnel.queue), tunnel.fair),
      sent_(k_kept_payloads) {
  outer.on_event = [this](const Event& event, Time when) { on_event(event, when); };
}

void TunnelEnd::send(std::size_t flow, Bytes packet, Time now) {
  assert(flow < 64 && "a flow takes one byte");
  framed_.assign({static_cast<std::uint8_t>(flow), k_packet_context});
  framed_.insert(framed_.end(), packet.begin(), packet.end());
  queues_.of(flow).push(framed_, now);
  copying_ = false;
  if (config_.idle_copies > 0) next_copies_ = now + idle_before_copies();
}

Duration TunnelEnd::idle_before_copies() const {
  const PathStats stats = path();
  if (stats.pacing_rate == 0) return stats.smoothed_rtt;
  const double seconds =
      k_packets_before_copies * stats.mtu / static_cast<double>(stats.pacing_rate);
  return std::max(k_idle_before_copies, Duration(static_cast<std::int64_t>(seconds * 1e9)));
}

void TunnelEnd::send_report(std::size_t flow, Bytes report) {
  std::vector<std::uint8_t>& framed = reports_[flow];
  framed.assign({static_cast<std::uint8_t>(flow), k_report_context});
  framed.insert(framed.end(), report.begin(), report.end());
}

// --- from the queue to the outer connection ----------------------------------------------------

void TunnelEnd::on_timeout(Time now) {
  if (outer.next_timeout() <= now) outer.on_timeout(now);
  if (next_copies_ > now) return;
  next_copies_ = k_never;
  copying_ = true;
}

void TunnelEnd::poll_transmit(TransmitBatch& batch, Time now) {
  feed(now);
  outer.poll_transmit(batch, now);
}

void TunnelEnd::feed(Time now) {
  if (!feed_reports()) return;
  while (const auto framed = queues_.front(now)) {
    if (!(uses_streams(config_.mode) ? feed_stream(*framed) : feed_datagram(*framed))) return;
    queues_.pop();
  }
  if (copying_) feed_copies();
}

// These return false when there is no room.

bool TunnelEnd::feed_reports() {
  while (!reports_.empty()) {
    const auto first = reports_.begin();
    if (!outer.connection.datagrams().send(first->second, k_sent_once)) return false;
    reports_.erase(first);
  }
  return true;
}

// A copy that is lost is not missed. The connection's window and pace bound how many leave, and
// they end as soon as something else waits.
void TunnelEnd::feed_copies() {
  // They use what nobody else does: not a link before which packets wait already.
  const PathStats stats = path();
  if (stats.smoothed_rtt > share_of(stats.minimum_rtt, k_empty_link) + k_idle_before_copies) return;
  while (const auto payload = sent_.to_copy(config_.idle_copies)) {
    if (!outer.connection.datagrams().send(*payload, k_sent_once)) return;
    sent_.on_copied();
    ++copies_;
  }
}

bool TunnelEnd::feed_datagram(Bytes framed) {
  if (framed.size() > outer.connection.datagrams().maximum_payload()) {
    ++too_large_;
    return true;
  }
  if (config_.mode != TunnelMode::kRetransmit) {
    return outer.connection.datagrams().send(framed, k_sent_once);
  }
  const std::uint64_t identifier = sent_.keep(framed, framed[0]);
  if (outer.connection.datagrams().send(framed, identifier)) return true;
  sent_.on_acknowledged(identifier);  // it did not leave
  return false;
}

bool TunnelEnd::feed_stream(Bytes framed) {
  StreamWriter& writer = outer.connection.streams().writer();
  const std::size_t wanted = config_.mode == TunnelMode::kStream ? 1 : config_.streams;
  while (streams_.size() < wanted) {
    const auto opened = writer.open(Directionality::kUnidirectional);
    if (!opened) return false;
    streams_.push_back(*opened);
  }
  const StreamId stream = streams_[next_stream_ % streams_.size()];
  if (writer.unsent_bytes(stream) >= k_short_stream) return false;
  // The context id of the flow stands for its stream as well.
  const std::vector<std::uint8_t> capsule =
      http3::encode_capsule({.type = http3::k_capsule_datagram, .value = framed});
  const auto written = writer.write(stream, SendChunk::copy_of(capsule), false);
  assert(written);
  static_cast<void>(written);
  ++next_stream_;
  return true;
}

// --- from the outer connection to the flows -----------------------------------------------------

void TunnelEnd::on_event(const Event& event, Time now) {
  if (std::holds_alternative<DatagramReceivedEvent>(event)) return take_datagrams(now);
  if (const auto* lost = std::get_if<DatagramLostEvent>(&event)) {
    return on_lost(lost->identifier, now);
  }
  if (const auto* acknowledged = std::get_if<DatagramAcknowledgedEvent>(&event)) {
    if (config_.mode == TunnelMode::kRetransmit) sent_.on_acknowledged(acknowledged->identifier);
    return;
  }
  const auto* stream = std::get_if<StreamEvent>(&event);
  if (stream != nullptr && stream->kind == StreamEvent::Kind::kReadable) {
    read_stream(stream->stream, now);
  }
}

void TunnelEnd::on_lost(std::uint64_t identifier, Time now) {
  if (config_.mode != TunnelMode::kRetransmit) return;
  const auto lost = sent_.take_lost(identifier);
  if (lost) queues_.of(lost->owner).push_repeat(lost->payload, now);
}

void TunnelEnd::take_datagrams(Time now) {
  while (const auto datagram = outer.connection.datagrams().receive()) {
    take(datagram->payload, now);
  }
}

void TunnelEnd::read_stream(StreamId stream, Time now) {
  StreamReader& reader = outer.connection.streams().reader();
  http3::CapsuleReader& capsules = readers_.try_emplace(stream, datagrams_only).first->second;
  for (Bytes bytes = reader.peek(stream); !bytes.empty(); bytes = reader.peek(stream)) {
    const std::size_t length = bytes.size();
    while (!bytes.empty()) {
      const auto capsule = capsules.next(bytes);
      assert(capsule);
      if (*capsule) take((*capsule)->value, now);
    }
    if (!reader.consume(stream, length, now)) return;
  }
}

void TunnelEnd::take(Bytes framed, Time now) {
  if (framed.size() <= k_framing) return;
  if (framed[1] == k_report_context) {
    if (take_report) take_report(framed[0], framed.subspan(k_framing));
    return;
  }
  packet_.assign(framed.begin() + k_framing, framed.end());
  if (deliver) deliver(framed[0], packet_, now);
}

}  // namespace sheaf::quic
