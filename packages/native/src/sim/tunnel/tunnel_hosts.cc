#include "sim/tunnel/tunnel_hosts.h"

#include <algorithm>
#include <array>

namespace sheaf::quic {

namespace {

// Calls `take` with each datagram of a batch.
template <typename Take>
void for_each_datagram(const TransmitBatch& batch, Take&& take) {
  for (Bytes rest(batch.buffer.data(), batch.size); !rest.empty();) {
    const std::size_t length = std::min(batch.segment_size, rest.size());
    take(rest.first(length));
    rest = rest.subspan(length);
  }
}

void put_single(TransmitBatch& batch, Bytes packet, const AddressPair& path, Ecn ecn) {
  std::ranges::copy(packet, batch.buffer.begin());
  batch.size = batch.segment_size = packet.size();
  batch.path = path;
  batch.ecn = ecn;
}

}  // namespace

void InnerHost::poll_transmit(TransmitBatch& batch, Time now) {
  inner_.poll_transmit(batch, now);
  if (!sends_) return;
  for_each_datagram(batch, [&](Bytes packet) { delays_.on_sent(packet, now); });
}

// --- client -------------------------------------------------------------------------------------

TunnelClientHost::TunnelClientHost(TunnelEnd& tunnel, std::vector<Flow> flows)
    : tunnel_(tunnel), flows_(std::move(flows)), buffer_(64 << 10) {
  tunnel_.deliver = [this](std::size_t flow, MutableBytes packet, Time now) {
    if (!carries(flow)) return;
    flows_[flow].delays->on_received(packet, now);
    flows_[flow].inner->receive({.payload = packet, .path = flows_[flow].path}, now);
  };
  // The client hands reports on as they are. What is lost is not sent again: newer ones follow.
  tunnel_.take_report = [this](std::size_t flow, Bytes report) {
    if (!carries(flow)) return;
    last_report_ = decode_feedback_report(report);
    Connection& inner = flows_[flow].inner->connection;
    if (!inner.paths().report_tunnel(report)) inner.datagrams().send(report, 0);
  };
}

void TunnelClientHost::start_warm(std::size_t flow) {
  if (!last_report_) return;
  const FeedbackReport known{.rate = last_report_->rate,
                             .tunnel_round_trip = last_report_->tunnel_round_trip};
  std::array<std::uint8_t, k_longest_feedback_report> buffer;
  Writer writer(buffer);
  encode(writer, known);
  flows_[flow].inner->connection.datagrams().send(writer.written(), 0);
}

void TunnelClientHost::poll_transmit(TransmitBatch& batch, Time now) {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    while (carries(i)) {
      TransmitBatch inner{.buffer = buffer_, .path = {}};
      flows_[i].inner->poll_transmit(inner, now);
      if (inner.size == 0) break;
      for_each_datagram(inner, [&](Bytes packet) { tunnel_.send(i, packet, now); });
    }
  }
  tunnel_.poll_transmit(batch, now);
}

Time TunnelClientHost::next_timeout() const {
  Time next = tunnel_.next_timeout();
  for (const Flow& flow : flows_) {
    if (flow.inner != nullptr) next = std::min(next, flow.inner->next_timeout());
  }
  return next;
}

void TunnelClientHost::on_timeout(Time now) {
  if (tunnel_.next_timeout() <= now) tunnel_.on_timeout(now);
  for (const Flow& flow : flows_) {
    if (flow.inner != nullptr && flow.inner->next_timeout() <= now) flow.inner->on_timeout(now);
  }
}

// --- server of the tunnel -----------------------------------------------------------------------

TunnelServerHost::TunnelServerHost(TunnelEnd& tunnel, std::vector<AddressPair> targets)
    : tunnel_(tunnel), targets_(std::move(targets)) {
  tunnel_.deliver = [this](std::size_t flow, MutableBytes packet, Time) {
    if (flow >= targets_.size()) return;
    outgoing_.push_back({.flow = flow, .packet = {packet.begin(), packet.end()}});
  };
}

void TunnelServerHost::receive(const Datagram& datagram, Time now) {
  const auto target = std::ranges::find(targets_, datagram.path);
  if (target == targets_.end()) return tunnel_.outer.receive(datagram, now);
  const auto flow = static_cast<std::size_t>(target - targets_.begin());
  tunnel_.send(flow, datagram.payload, now);
  if (!meters_) return;
  Meter& meter = (*meters_)[std::min(flow, meters_->size() - 1)];
  meter.flow = flow;
  meter.of_queue.on_arrival(datagram.payload.size(), now);
}

Time TunnelServerHost::next_timeout() const {
  Time next = tunnel_.next_timeout();
  if (!meters_) return next;
  for (const Meter& meter : *meters_) next = std::min(next, meter.of_queue.next_timeout());
  return next;
}

void TunnelServerHost::on_timeout(Time now) {
  if (tunnel_.next_timeout() <= now) tunnel_.on_timeout(now);
  if (!meters_) return;
  for (Meter& meter : *meters_) {
    if (meter.of_queue.next_timeout() <= now) report(meter, now);
  }
}

void TunnelServerHost::report(Meter& meter, Time now) {
  const auto active =
      std::ranges::count_if(*meters_, [](const Meter& each) { return each.of_queue.active(); });
  const PathStats path = tunnel_.path();
  // The outer connection counts its own headers.
  const double share = static_cast<double>(tunnel_.outer.connection.datagrams().maximum_payload()) /
                       static_cast<double>(path.mtu);
  const double rate =
      static_cast<double>(path.sending_rate()) * share / static_cast<double>(active);
  const FeedbackReport made = meter.of_queue.report(
      tunnel_.queues().of(meter.flow).take_flow(now),
      {.rate = static_cast<std::uint64_t>(rate), .minimum_round_trip = path.minimum_rtt}, now);
  std::array<std::uint8_t, k_longest_feedback_report> buffer;
  Writer writer(buffer);
  encode(writer, made);
  tunnel_.send_report(meter.flow, writer.written());
}

void TunnelServerHost::poll_transmit(TransmitBatch& batch, Time now) {
  if (outgoing_.empty()) return tunnel_.poll_transmit(batch, now);
  const Outgoing& next = outgoing_.front();
  put_single(batch, next.packet, targets_[next.flow], Ecn::kNotEct);
  outgoing_.pop_front();
}

// --- forwarder ----------------------------------------------------------------------------------

void ForwarderHost::receive(const Datagram& datagram, Time) {
  for (const Rule& rule : rules_) {
    const bool from_client = datagram.path == rule.client;
    if (!from_client && datagram.path != rule.server) continue;
    outgoing_.push_back({.path = from_client ? rule.server : rule.client,
                         .ecn = datagram.ecn,
                         .packet = {datagram.payload.begin(), datagram.payload.end()}});
  }
}

void ForwarderHost::poll_transmit(TransmitBatch& batch, Time) {
  if (outgoing_.empty()) return;
  put_single(batch, outgoing_.front().packet, outgoing_.front().path, outgoing_.front().ecn);
  outgoing_.pop_front();
}

}  // namespace sheaf::quic
