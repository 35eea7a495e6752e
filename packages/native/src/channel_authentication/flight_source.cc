#include "channel_authentication/flight_source.h"

#include <algorithm>
#include <cassert>

#include "channel_authentication/flight.h"

namespace sheaf::quic {

FlightSource::FlightSource(const FlightConfig& config, const SigningKey& key, JobRunner& runner)
    : config_(config),
      offer_(offer_of_public_key(AuthenticationScheme::kSigned, key.public_key())),
      runner_(runner),
      hasher_(make_batch_hasher()) {
  assert(config.hash_length == 16 || config.hash_length == 32);
  assert(max_packets() >= k_min_packets);
  for (std::size_t i = 0; i < k_flights; ++i) {
    rotation_.push_back(std::make_unique<Flight>(config_, max_packets(), key, *hasher_));
  }
}

// Jobs read what is destroyed here.
FlightSource::~FlightSource() { FlightSource::stop(); }

void FlightSource::stop() {
  if (is_gathering_) close({});
  for (std::size_t i = 0; i < closed_; ++i) rotation_[(oldest_ + i) % k_flights]->wait(runner_);
}

// As many as the hashes of their lists have room in one frame
std::size_t FlightSource::max_packets() const {
  const std::size_t lists = hashes_of_flight_frame(config_, k_max_lists);
  return std::min(config_.max_packets, lists * hashes_of_list_frame(config_));
}

FlightSource::Flight& FlightSource::gathering(const SealedPacket& packet, Time now) {
  Flight* flight = rotation_[(oldest_ + closed_) % k_flights].get();
  if (is_gathering_ && !flight->continues(packet)) close(now);
  if (!is_gathering_) {
    if (closed_ == k_flights) {
      // The helper is behind, or frames are not fetched: the oldest flight makes room.
      rotation_[oldest_]->wait(runner_);
      if (!rotation_[oldest_]->sent_once()) ++dropped_;
      oldest_ = (oldest_ + 1) % k_flights;
      --closed_;
    }
    flight = rotation_[(oldest_ + closed_) % k_flights].get();
    flight->begin(packet.number, packet.key_sequence);
    is_gathering_ = true;
  }
  // A flight of proofs alone would need a proof, and so on for ever.
  if (!packet.proofs_only && deadline_ == k_never) deadline_ = now + config_.max_delay;
  return *flight;
}

void FlightSource::add(std::span<const SealedPacket> packets, Time now) {
  for (const SealedPacket& packet : packets) {
    Flight& flight = gathering(packet, now);
    flight.add(packet.datagram, runner_);
    if (flight.full()) close(now);
  }
}

void FlightSource::close(Time now) {
  rotation_[(oldest_ + closed_) % k_flights]->close(runner_);
  ++closed_;
  next_look_ = now + k_look_interval;
  is_gathering_ = false;
  deadline_ = k_never;
}

Time FlightSource::next_timeout() const {
  Time next = deadline_;
  for (std::size_t i = 0; i < closed_; ++i) {
    const Flight& flight = *rotation_[(oldest_ + i) % k_flights];
    next = std::min(next, flight.signed_already() ? flight.frame_due() : next_look_);
  }
  return next;
}

void FlightSource::on_timeout(Time now) {
  if (is_gathering_ && deadline_ <= now) close(now);
  if (next_look_ <= now) next_look_ = now + k_look_interval;
}

std::size_t FlightSource::write_frame(MutableBytes room, Time now) {
  for (std::size_t i = 0; i < closed_; ++i) {
    Flight& flight = *rotation_[(oldest_ + i) % k_flights];
    if (!flight.signed_already()) break;
    if (flight.all_sent() || flight.frame_due() > now) continue;
    const std::size_t length = flight.write_frame(room, now);
    while (closed_ > 0 && rotation_[oldest_]->signed_already() && rotation_[oldest_]->all_sent()) {
      oldest_ = (oldest_ + 1) % k_flights;
      --closed_;
    }
    return length;
  }
  return 0;
}

PacketNumber FlightSource::reads_from() const {
  for (std::size_t i = 0; i < closed_; ++i) {
    const Flight& flight = *rotation_[(oldest_ + i) % k_flights];
    if (!flight.signed_already()) return flight.first();
  }
  if (!is_gathering_) return k_no_packet_number;
  return rotation_[(oldest_ + closed_) % k_flights]->first();
}

}  // namespace sheaf::quic
