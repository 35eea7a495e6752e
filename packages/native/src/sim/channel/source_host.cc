#include "sim/channel/source_host.h"

namespace sheaf::quic {

bool SourceHost::accept(const RequestAddresses& addresses, Time now) {
  const NetworkKey network = network_of(addresses.reliable.remote);
  if (now < networks_.held_until(network)) return false;
  const auto id = source_.add_receiver();
  if (!id) return false;
  networks_.on_joined(network);
  by_address_[addresses.reliable.remote] = by_address_[addresses.lossy.remote] = requests_.size();
  requests_.push_back({*id, addresses, now});
  queue_.send_capsule(addresses.reliable, source_.offer_at(now));
  return true;
}

void SourceHost::move(const RequestAddresses& addresses, const Address& lossy) {
  const std::size_t index = by_address_.at(addresses.reliable.remote);
  Address& known = requests_[index].addresses.lossy.remote;
  by_address_.erase(known);
  by_address_[lossy] = index;
  known = lossy;
}

void SourceHost::remove(const RequestAddresses& addresses, Time now) {
  Request& request = requests_[by_address_.at(addresses.reliable.remote)];
  by_address_.erase(request.addresses.reliable.remote);
  by_address_.erase(request.addresses.lossy.remote);
  source_.remove_receiver(request.id);
  networks_.on_left(network_of(addresses.reliable.remote), request.joined, now);
  request.ended = true;  // its id may be another receiver's soon
}

void SourceHost::send_keys() {
  for (const Request& request : requests_) {
    if (request.ended) continue;
    while (const auto key = source_.poll_key(request.id)) {
      queue_.send_capsule(request.addresses.reliable, *key);
    }
  }
}

void SourceHost::receive(const Datagram& datagram, Time now) {
  const auto found = by_address_.find(datagram.path.remote);
  if (found == by_address_.end() || datagram.payload.empty()) return;
  on_message(requests_[found->second], datagram.payload, now);
}

void SourceHost::on_message(Request& request, Bytes message, Time now) {
  Reader in(message);
  switch (static_cast<RequestMessage>(in.read_u8())) {
    case RequestMessage::kCapsule: {
      const std::uint64_t type = in.read_varint();
      const auto value = decode_channel_capsule(type, in.read_rest());
      if (!value) return;
      if (const auto* state = std::get_if<ChannelState>(&*value)) {
        source_.on_state(request.id, *state, now);
      }
      return;
    }
    case RequestMessage::kDatagram: {
      in.read_u32();
      const auto value = decode_channel_datagram(in.read_rest());
      if (!value) return;
      if (const auto* report = std::get_if<ChannelReport>(&*value)) {
        source_.on_report(request.id, *report, now, round_trip_);
      }
      if (const auto* query = std::get_if<ChannelClockQuery>(&*value)) {
        send_clock(request, query->nonce, now);
      }
      return;
    }
    case RequestMessage::kAcknowledgement: {
      const std::uint32_t name = in.read_u32();
      if (!copies_.empty() && name - copies_.front().name < copies_.size()) {
        copies_[name - copies_.front().name].acknowledged = true;
      }
      return;
    }
  }
}

void SourceHost::send_clock(const Request& request, std::uint64_t nonce, Time now) {
  const auto clock = source_.clock(now);
  if (!clock) return;
  std::array<std::uint8_t, k_max_clock_message> bytes;
  Writer out(bytes);
  write_clock(out, {nonce, *clock});
  queue_.send_numbered(request.addresses.lossy, RequestMessage::kDatagram, k_no_copy,
                       out.written());
}

void SourceHost::poll_transmit(TransmitBatch& batch, Time now) {
  const Bytes repair = source_.poll_repair(now);
  const Bytes packets = repair.empty() ? source_.poll_transmit(batch.max_segments, now) : repair;
  if (!packets.empty() && source_.feeds_group(now)) {
    std::ranges::copy(packets, batch.buffer.begin());
    batch.size = packets.size();
    batch.segment_size = repair.empty() ? source_.packet_size() : repair.size();
    batch.path = {source_.offer().source, source_.offer().group};
    group_bytes_ += packets.size();
    return;
  }
  send_keys();
  if (!queue_.poll(batch)) poll_copy(batch, now);
}

bool SourceHost::poll_copy(TransmitBatch& batch, Time now) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const Request& request = requests_[next_request_++ % requests_.size()];
    if (request.ended) continue;
    const Bytes packet = source_.poll_copy(request.id, now);
    if (packet.empty()) continue;
    const Copy copy{next_copy_name_++, request.id, source_.last_copy(), now};
    copies_.push_back(copy);
    Writer out(batch.buffer);
    out.write_u8(static_cast<std::uint8_t>(RequestMessage::kDatagram));
    out.write_u32(copy.name);
    write_channel_copy_head(out);
    out.write_bytes(packet);
    batch.size = batch.segment_size = out.size();
    batch.path = request.addresses.lossy;
    copied_bytes_ += packet.size();
    return true;
  }
  return false;
}

Time SourceHost::next_timeout() const {
  Time next = source_.next_timeout();
  if (!copies_.empty()) next = std::min(next, copies_.front().sent + k_lost_after);
  for (const Request& request : requests_) {
    if (!request.ended && source_.due_to(request.id).copy)
      next = std::min(next, copy_budget_.next());
  }
  return next;
}

void SourceHost::on_timeout(Time now) {
  source_.on_timeout(now);
  for (; !copies_.empty() && copies_.front().sent + k_lost_after <= now; copies_.pop_front()) {
    const Copy& copy = copies_.front();
    if (!copy.acknowledged) source_.on_copy_lost(copy.receiver, copy.number);
  }
}

}  // namespace sheaf::quic
