#include "sim/receivers/own_receiver.h"

namespace sheaf::quic {

namespace {

constexpr std::uint8_t k_ack_delay_exponent = 3;

}  // namespace

bool OwnReceiver::receive(PacketNumber number, bool ack_eliciting, Time now) {
  if (received_.is_duplicate(number)) return false;
  received_.on_received(number, Ecn::kNotEct, ack_eliciting, now, k_max_ack_delay);
  ack_deadline_ = received_.ack_deadline();
  return true;
}

std::vector<AckRange> OwnReceiver::acknowledge(Time now) {
  std::array<std::uint8_t, 1200> buffer;
  Writer writer(buffer);
  std::vector<AckRange> reported;
  if (received_.write_ack(writer, k_ack_delay_exponent, now)) {
    Reader reader(writer.written());
    const auto frame = decode_frame(reader, PacketType::kOneRtt);
    AckRangeReader ranges(std::get<AckFrame>(*frame));
    for (AckRange range; ranges.next(range.first, range.last);) reported.push_back(range);
  }
  ack_deadline_ = received_.ack_deadline();
  last_reported_ = reported.size();
  return reported;
}

void OwnReceiver::on_ack_acknowledged(std::span<const AckRange> reported) {
  if (!reported.empty()) received_.on_ack_acknowledged(reported.front().last);
}

}  // namespace sheaf::quic
