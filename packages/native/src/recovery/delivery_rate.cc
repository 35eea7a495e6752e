#include "recovery/delivery_rate.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Saturates: a pause of more than an hour gives no usable sample.
std::uint32_t to_microseconds(Duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, UINT32_MAX));
}

}  // namespace

void DeliveryRate::on_sent(SentPacket& packet, std::uint64_t bytes_in_flight) {
  if (bytes_in_flight == 0) {
    flight_start_ = packet.time_sent;
    delivered_at_ = packet.time_sent;
  }
  packet.delivered_at_send = static_cast<std::uint32_t>(delivered_);
  packet.lost_at_send = static_cast<std::uint32_t>(lost_);
  packet.in_flight_at_send = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes_in_flight + packet.bytes, UINT32_MAX));
  packet.microseconds_since_delivery = to_microseconds(packet.time_sent - delivered_at_);
  packet.microseconds_since_flight_start = to_microseconds(packet.time_sent - flight_start_);
  packet.application_limited =
      application_limited_until_ != 0 && delivered_ <= application_limited_until_;
}

void DeliveryRate::on_acknowledged(const SentPacket& packet, Time now) {
  delivered_ += packet.bytes;
  delivered_at_ = now;
  if (!has_newest_ || packet.time_sent >= newest_.time_sent) {
    newest_ = packet;
    has_newest_ = true;
  }
}

DeliveryRate::Sample DeliveryRate::take_sample(Time now, Duration minimum_rtt) {
  if (!has_newest_) return {};
  has_newest_ = false;
  flight_start_ = newest_.time_sent;
  const std::uint64_t bytes = static_cast<std::uint32_t>(delivered_) - newest_.delivered_at_send;
  Sample sample{.delivered_at_send = delivered_ - bytes,
                .in_flight_at_send = newest_.in_flight_at_send,
                .lost_since_send = lost_since(newest_),
                .application_limited = newest_.application_limited};
  const Duration sending = std::chrono::microseconds(newest_.microseconds_since_flight_start);
  const Duration acknowledging =
      now - newest_.time_sent + std::chrono::microseconds(newest_.microseconds_since_delivery);
  const Duration interval = std::max(sending, acknowledging);
  // An interval shorter than any round trip: acknowledgements were compressed, or the time was cut
  // off.
  if (interval < std::max(minimum_rtt, Duration(1))) return sample;
  sample.bytes_per_second = static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                                       static_cast<double>(interval.count()));
  return sample;
}

void DeliveryRate::on_application_limited(std::uint64_t bytes_in_flight) {
  application_limited_until_ = std::max<std::uint64_t>(delivered_ + bytes_in_flight, 1);
}

}  // namespace sheaf::quic
