#include "channel_authentication/flight.h"

#include <algorithm>

namespace sheaf::quic {

std::size_t hashes_of_flight_frame(const FlightConfig& config, std::size_t most) {
  const std::size_t overhead = flight_frame_overhead(k_max_varint, k_max_varint);
  if (config.max_frame <= overhead) return 0;
  return std::min(most, (config.max_frame - overhead) / config.hash_length);
}

std::size_t hashes_of_list_frame(const FlightConfig& config) {
  const std::size_t overhead = list_frame_overhead(k_max_varint);
  if (config.max_frame <= overhead) return 0;
  return std::min(k_max_list_hashes, (config.max_frame - overhead) / config.hash_length);
}

FlightSource::Flight::Flight(const FlightConfig& config, std::size_t max_packets,
                             const SigningKey& key, BatchHasher& hasher)
    : config_(config),
      key_(key),
      hasher_(hasher),
      digests_(max_packets),
      batches_((max_packets + 63) / 64),
      signing_(*this),
      list_texts_(k_max_lists) {
  packet_hashes_.reserve(max_packets * config.hash_length);
  list_hashes_.reserve(k_max_lists * config.hash_length);
}

void FlightSource::Flight::begin(PacketNumber first, std::uint64_t key_sequence) {
  first_ = first;
  key_sequence_ = key_sequence;
  count_ = 0;
  submitted_ = 0;
  signing_.reset();
}

bool FlightSource::Flight::continues(const SealedPacket& packet) const {
  return packet.number == first_ + count_ && packet.key_sequence == key_sequence_;
}

void FlightSource::Flight::add(Bytes packet, JobRunner& runner) {
  HashBatch& batch = batches_[count_ / batches_[0].packets.size()];
  if (count_ == submitted_) {
    batch.flight = this;
    batch.offset = count_;
    batch.count = 0;
    batch.reset();
  }
  batch.packets[batch.count++] = packet;
  ++count_;
  if (batch.count == batch.packets.size()) submit_batch(runner);
}

void FlightSource::Flight::submit_batch(JobRunner& runner) {
  if (count_ == submitted_) return;
  runner.submit(batches_[submitted_ / batches_[0].packets.size()]);
  submitted_ = count_;
}

void FlightSource::Flight::close(JobRunner& runner) {
  submit_batch(runner);
  next_frame_ = 0;
  copies_left_ = config_.copies;
  frame_due_ = {};
  runner.submit(signing_);
}

// The signature is the last job of a flight.
void FlightSource::Flight::wait(JobRunner& runner) const { runner.wait(signing_); }

void FlightSource::Flight::HashBatch::work() {
  flight->hasher_.hash({packets.data(), count}, {flight->digests_.data() + offset, count});
}

void FlightSource::Flight::pack(std::span<const Sha256Digest> digests,
                                std::vector<std::uint8_t>& out) const {
  out.clear();
  for (const Sha256Digest& digest : digests) {
    out.insert(out.end(), digest.begin(), digest.begin() + config_.hash_length);
  }
}

void FlightSource::Flight::sign() {
  pack({digests_.data(), count_}, packet_hashes_);
  const bool one_frame = count_ <= hashes_of_flight_frame(config_, k_max_list_hashes);
  signed_ = {.first = first_,
             .key_sequence = key_sequence_,
             .count = static_cast<std::uint32_t>(count_),
             .per_list = static_cast<std::uint16_t>(one_frame ? 0 : hashes_of_list_frame(config_)),
             .hash_length = config_.hash_length,
             .hashes = packet_hashes_,
             .signature = signature_};
  if (!one_frame) hash_lists();
  signature_ = key_.sign(flight_text(config_.channel, signed_, hasher_.hash_one(signed_.hashes)));
}

void FlightSource::Flight::hash_lists() {
  for (std::size_t i = 0; i < lists(); ++i) {
    const std::size_t offset = i * signed_.per_list;
    const std::size_t length = std::min<std::size_t>(signed_.per_list, count_ - offset);
    list_texts_[i].set(
        first_ + offset,
        Bytes(packet_hashes_).subspan(offset * config_.hash_length, length * config_.hash_length));
    list_views_[i] = list_texts_[i].view();
  }
  hasher_.hash({list_views_.data(), lists()}, {list_digests_.data(), lists()});
  pack({list_digests_.data(), lists()}, list_hashes_);
  signed_.hashes = list_hashes_;
}

// The signed frame comes first, so that members can check lists as they come.
std::size_t FlightSource::Flight::write_frame(MutableBytes room, Time now) {
  std::size_t length = 0;
  if (next_frame_ == 0) {
    length = encode_integrity_frame(signed_, room);
  } else {
    const std::size_t offset = (next_frame_ - 1) * signed_.per_list;
    const std::size_t hashes = std::min<std::size_t>(signed_.per_list, count_ - offset);
    const ListFrame list{
        .first = first_ + offset,
        .hash_length = config_.hash_length,
        .hashes = Bytes(packet_hashes_)
                      .subspan(offset * config_.hash_length, hashes * config_.hash_length)};
    length = encode_integrity_frame(list, room);
  }
  if (length > 0 && next_frame_++ == lists()) {
    next_frame_ = 0;
    --copies_left_;
    frame_due_ = now + config_.copy_interval;
  }
  return length;
}

}  // namespace sheaf::quic
