#include "sim/direct_return/receiving_client.h"

#include <algorithm>

#include "sim/known_secret.h"
#include "sim/pattern.h"

namespace sheaf::quic {

namespace {

// As ConnectionPair sets the connection up
constexpr std::size_t k_id_length = 8;
constexpr std::uint8_t k_server_id = 0x50;
constexpr std::size_t k_number_length = 4;
constexpr Duration k_probe_timeout = 100ms;

bool holds_data(Bytes payload) {
  const std::uint8_t type = payload.empty() ? 0 : payload.front();
  return (type & 0xf8) == 0x08;  // STREAM (RFC 9000 §19.8)
}

}  // namespace

ReceivingClient::ReceivingClient(ReceiverModel& model, const AddressPair& path)
    : model_(model), path_(path) {
  keys_.install_send_secret(known_secret(1));
  keys_.install_receive_secret(known_secret(2));
  keys_.confirm_handshake();
}

StreamId ReceivingClient::request(const ContentRequest& request) {
  const StreamId stream =
      StreamId::make(Role::kClient, Directionality::kBidirectional, responses_.size());
  responses_[stream].wanted = request.length;
  const auto data = request.encode();
  std::vector<std::uint8_t> payload(64);
  Writer out(payload);
  encode(out, StreamFrameHeader{.stream = stream, .length = data.size(), .fin = true});
  out.write_bytes(data);
  payload.resize(out.size());
  waiting_.push_back(std::move(payload));
  return stream;
}

bool ReceivingClient::finished() const {
  return std::ranges::all_of(responses_, [](const auto& entry) {
    const Response& response = entry.second;
    return response.ended && response.received.contains(0, response.wanted);
  });
}

void ReceivingClient::receive(const Datagram& datagram, Time now) {
  const OpenedPacket opened =
      keys_.open(datagram.payload, 1 + k_id_length, {}, largest_received_, now);
  if (opened.began_phase) keys_.keep_old_keys({}, now, k_probe_timeout);
  if (opened.outcome != OpenedPacket::Outcome::kOpened) {
    intact_ = false;
    return;
  }
  largest_received_ = std::max(largest_received_, opened.number);
  const bool data = holds_data(opened.payload);
  // Packets with nothing but an ACK elicit none (RFC 9000 §13.2.1).
  Reader reader(opened.payload);
  bool elicits = false;
  std::vector<Frame> frames;
  while (!reader.empty()) {
    auto frame = decode_frame(reader, PacketType::kOneRtt);
    if (!frame) {
      intact_ = false;
      return;
    }
    elicits |=
        !std::holds_alternative<AckFrame>(*frame) && !std::holds_alternative<PaddingFrame>(*frame);
    frames.push_back(*std::move(frame));
  }
  packets_ += data ? 1 : 0;
  if (!model_.receive(opened.number, elicits, now)) {
    refused_ += data ? 1 : 0;
    return;
  }
  most_ranges_ = std::max(most_ranges_, model_.ranges());
  for (const Frame& frame : frames) {
    if (const auto* stream = std::get_if<StreamFrame>(&frame)) take(*stream);
    if (const auto* ack = std::get_if<AckFrame>(&frame)) take(*ack);
    if (const auto* request = std::get_if<AckFrequencyFrame>(&frame)) take(*request);
  }
}

void ReceivingClient::take(const StreamFrame& frame) {
  Response& response = responses_[frame.stream];
  intact_ &= matches_pattern(frame.data, frame.offset);
  const std::uint64_t end = frame.offset + frame.data.size();
  repeated_ += frame.data.size() - response.received.insert(frame.offset, end);
  if (frame.fin) {
    intact_ &= end == response.wanted;
    response.ended = true;
  }
}

void ReceivingClient::take(const AckFrame& frame) {
  AckRangeReader ranges(frame);
  PacketNumber first;
  PacketNumber last;
  while (ranges.next(first, last)) {
    for (auto report = reports_.lower_bound(first);
         report != reports_.end() && report->first <= last; report = reports_.erase(report)) {
      model_.on_ack_acknowledged(report->second);
    }
  }
}

void ReceivingClient::take(const AckFrequencyFrame& frame) {
  model_.set_ack_frequency(static_cast<std::uint32_t>(frame.threshold),
                           std::chrono::microseconds(frame.max_ack_delay),
                           frame.reordering_threshold == 0);
}

std::vector<std::uint8_t> ReceivingClient::acknowledgement(Time now) {
  std::vector<AckRange> ranges = model_.acknowledge(now);
  if (ranges.empty()) return {};
  std::vector<std::uint8_t> payload(1200);
  Writer out(payload);
  out.write_u8(0x02);  // ACK (RFC 9000 §19.3)
  out.write_varint(ranges.front().last);
  out.write_varint(0);  // delay
  const std::size_t most = std::min<std::size_t>(ranges.size(), 64);
  out.write_varint(most - 1);
  out.write_varint(ranges.front().last - ranges.front().first);
  for (std::size_t i = 1; i < most; ++i) {
    out.write_varint(ranges[i - 1].first - ranges[i].last - 2);
    out.write_varint(ranges[i].last - ranges[i].first);
  }
  if (++acknowledgements_ % k_elicit_every == 0) {
    out.write_u8(0x01);  // PING
    reports_[next_number_] = std::move(ranges);
  }
  payload.resize(out.size());
  return payload;
}

void ReceivingClient::poll_transmit(TransmitBatch& batch, Time now) {
  if (!waiting_.empty()) {
    send(std::move(waiting_.front()), batch);
    waiting_.erase(waiting_.begin());
  } else if (model_.ack_deadline() <= now) {
    auto payload = acknowledgement(now);
    if (!payload.empty()) send(std::move(payload), batch);
  }
}

void ReceivingClient::send(std::vector<std::uint8_t> payload, TransmitBatch& batch) {
  Writer out(batch.buffer);
  out.write_u8(static_cast<std::uint8_t>(0x40 | keys_.key_phase_bit({}) | (k_number_length - 1)));
  for (std::size_t i = 0; i < k_id_length; ++i) out.write_u8(k_server_id);
  out.write_u32(static_cast<std::uint32_t>(next_number_));
  const auto header = static_cast<std::uint16_t>(out.size());
  out.write_bytes(payload);
  const SealJob job{.packet = batch.buffer.data(),
                    .payload_length = static_cast<std::uint32_t>(payload.size()),
                    .header_length = header,
                    .packet_number_length = k_number_length,
                    .path = {},
                    .number = next_number_++};
  if (!keys_.seal({&job, 1})) return;
  batch.size = batch.segment_size = header + payload.size() + k_aead_tag_length;
  batch.path = path_;
}

}  // namespace sheaf::quic
