#include "channel_authentication/receiver_tags.h"

#include <algorithm>

#include "util/equal_tags.h"

namespace sheaf::quic {

ReceiverTagger::ReceiverTagger(std::size_t max_frame)
    : max_frame_(max_frame), pending_(k_pending) {}

void ReceiverTagger::add_receiver(std::uint64_t receiver, const MacKey& key) {
  receivers_.push_back({.id = receiver, .mac = make_packet_mac()});
  receivers_.back().mac->set_key(key);
}

void ReceiverTagger::add(std::span<const SealedPacket> packets, Time) {
  for (const SealedPacket& packet : packets) {
    if (packet.proofs_only || receivers_.empty()) continue;
    if (end_ - first_ == pending_.size()) {
      ++first_;
      ++dropped_;
    }
    PendingTags& pending = pending_[end_++ % pending_.size()];
    pending.number = packet.number;
    pending.written = 0;
    pending.entries.resize(receivers_.size() * k_receiver_tag_length);
    std::uint8_t* entry = pending.entries.data();
    for (Receiver& receiver : receivers_) {
      const PacketTag tag = receiver.mac->tag(packet.datagram, packet.number);
      store(entry, receiver.id);
      std::ranges::copy(tag, entry + 8);
      entry += k_receiver_tag_length;
    }
  }
}

std::size_t ReceiverTagger::write_frame(MutableBytes room, Time) {
  if (first_ == end_) return 0;
  constexpr std::size_t k_overhead = 4 + 1 + 8 + 2;  // type, kind, number, count
  const std::size_t size = std::min(room.size(), max_frame_);
  if (size < k_overhead + k_receiver_tag_length) return 0;
  PendingTags& pending = pending_[first_ % pending_.size()];
  const std::size_t fitting = (size - k_overhead) / k_receiver_tag_length * k_receiver_tag_length;
  const Bytes entries = Bytes(pending.entries).subspan(pending.written);
  const TagsFrame frame{.number = pending.number,
                        .entries = entries.first(std::min(fitting, entries.size()))};
  const std::size_t length = encode_integrity_frame(frame, room);
  pending.written += frame.entries.size();
  if (pending.written == pending.entries.size()) ++first_;
  return length;
}

TagVerifier::TagVerifier(const TagVerifierConfig& config, Random& random)
    : StoringVerifier(config.max_bytes, config.max_datagram, config.max_wait, random),
      receiver_(config.receiver),
      mac_(make_packet_mac()),
      early_(k_early) {
  mac_->set_key(config.key);
}

Verdict TagVerifier::on_packet(const ReceivedPacket& packet, Time now) {
  const EarlyTag& early = early_[packet.number % k_early];
  if (early.number == packet.number) {
    const PacketTag tag = mac_->tag(packet.datagram, packet.number);
    if (equal_tags(tag.data(), early.tag.data())) return Verdict::kProven;
  }
  // A tag that does not fit may be the forged part of the two.
  return keep(packet, 0, now);
}

bool TagVerifier::on_frame(const IntegrityFrame& frame, FrameOrigin, Time) {
  const auto* tags = std::get_if<TagsFrame>(&frame);
  if (tags == nullptr) return false;
  for (Bytes rest = tags->entries; !rest.empty(); rest = rest.subspan(k_receiver_tag_length)) {
    if (load<std::uint64_t>(rest.data()) == receiver_) on_tag(tags->number, rest.data() + 8);
  }
  return true;
}

void TagVerifier::on_tag(PacketNumber number, const std::uint8_t* tag) {
  std::array<CandidateStore::Slot, CandidateStore::k_max_candidates> slots;
  std::size_t count = store_.peek(number, slots);
  for (std::size_t i = 0; i < count; ++i) {
    const PacketTag computed = mac_->tag(store_.candidate(slots[i]).datagram, number);
    if (!equal_tags(computed.data(), tag)) continue;
    const CandidateStore::Slot genuine = slots[i];
    count = store_.take(number, slots);
    for (std::size_t j = 0; j < count; ++j) {
      if (slots[j] != genuine) drop_forged(slots[j]);
    }
    proven_.add(genuine);
    set_reach(number);
    return;
  }
  EarlyTag& early = early_[number % k_early];
  early.number = number;
  std::copy_n(tag, early.tag.size(), early.tag.begin());
}

}  // namespace sheaf::quic
