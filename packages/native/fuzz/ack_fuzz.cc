#include "congestion/controller.h"
#include "recovery/loss_detection.h"
#include "recovery/received_packets.h"

namespace {

using namespace sheaf::quic;

class Listener final : public SentFrameListener {
 public:
  void on_frame_acknowledged(PathId, const SentFrame&) override {}
  void on_frame_lost(PathId, const SentFrame&) override {}
};

// Holes, and packets that other nodes send.
struct Runs {
  LossDetection& loss;
  EcnValidation& ecn;
  Listener& listener;
  std::uint64_t bytes = 0;
  bool opened = false;

  void step(std::uint8_t choice, Reader& reader, Time now) {
    const auto sender = static_cast<std::uint8_t>(1 + choice / 4 % 2);
    if (choice % 4 == 0) return loss.sent().skip_number();
    if (!opened) {
      for (std::uint8_t other = 1; other <= 2; ++other) loss.open_sender(other, 30ms);
      opened = true;
    }
    const std::uint8_t value = reader.read_u8();
    if (choice % 4 == 1) {
      const std::size_t count = 1 + value % k_max_run;
      const Ecn mark = ecn.next_mark_of_run();
      loss.number_run({.time_sent = now + std::chrono::microseconds(50 * value),
                       .bytes = 1200,
                       .ack_eliciting = true,
                       .in_flight = true,
                       .ecn = mark,
                       .sender = sender},
                      count, {.bytes_per_packet = 1000}, now);
      ecn.on_sent(mark, count);
      bytes += 1200 * count;
    } else if (choice % 4 == 2) {
      const PacketNumber last = loss.sent().next_number();
      loss.refuse_run(sender, last - std::min<PacketNumber>(last, value), k_max_run, now, listener);
    } else {
      loss.abandon_sender(sender, listener);
      loss.open_sender(sender, std::chrono::milliseconds(value));
    }
    if (loss.sender_rtt(sender).rtt.smoothed() < Duration::zero()) __builtin_trap();
  }
};

}  // namespace

// Feeds ACK frames of a hostile peer between packets that are sent, skipped, timed out and
// received, changes of how often to acknowledge, and runs that other nodes send, refuse and leave
// undone. Checks that no more is in flight than was sent, that acknowledgements are not late, and
// that the logs stay small.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader(Bytes(data, size));
  RttEstimator rtt;
  const auto controller = make_congestion_controller({});
  LossDetection loss(PathId{0}, rtt, *controller);
  EcnValidation ecn;
  MtuDiscovery mtu(1400, 1400);
  loss.set_ecn_validation(ecn);
  loss.set_mtu_discovery(mtu);
  ReceivedPackets received;
  Listener listener;
  Time now{1s};
  Runs runs{loss, ecn, listener};
  std::uint64_t sent = 0;
  while (!reader.empty()) {
    const std::uint8_t operation = reader.read_u8();
    now += std::chrono::microseconds(100 * (operation >> 3));
    // Frames that follow each other are one batch.
    if (operation % 8 < 6) loss.conclude(now, listener);
    if (operation % 8 < 3) {
      const bool eliciting = operation % 8 > 0;
      const Ecn mark = ecn.next_mark();
      loss.sent().add_frame(SentFrame::for_data({}, 0, 7, false));
      loss.on_packet_sent(loss.sent().commit({.time_sent = now,
                                              .bytes = 1200,
                                              .ack_eliciting = eliciting,
                                              .in_flight = eliciting,
                                              .ecn = mark}),
                          now);
      ecn.on_sent(mark);
      sent += eliciting ? 1200 : 0;
    } else if (operation % 8 == 3) {
      runs.step(operation >> 3, reader, now);
    } else if (operation % 8 == 4) {
      const LossDetection::TimerTerms terms{.max_ack_delay = 25ms, .may_probe = true};
      if (loss.on_timeout(terms, now, listener) == LossDetection::TimeoutAction::kProbe) {
        loss.mark_oldest_for_probe(listener);
      }
    } else if (operation % 8 == 5 && operation >= 0xc0) {
      received.set_frequency({.threshold = reader.read_u32(),
                              .reordering_threshold = reader.read_u8(),
                              .max_ack_delay = std::chrono::microseconds(reader.read_u32())});
    } else if (operation % 8 == 5) {
      received.on_received(reader.read_varint(), Ecn::kCe, true, now, 25ms);
      if (received.ack_pending() && received.ack_deadline() > now + 1s) __builtin_trap();
      std::uint8_t buffer[64];
      Writer writer(buffer);
      if (received.write_ack(writer, 3, now) && !received.largest()) __builtin_trap();
    } else {
      const auto frame = decode_frame(reader, PacketType::kOneRtt);
      if (!frame) return 0;
      const auto* ack = std::get_if<AckFrame>(&*frame);
      if (ack && !loss.settle(*ack, {.handshake_confirmed = true}, now, listener)) return 0;
    }
    if (loss.bytes_in_flight() > sent + runs.bytes || controller->window() < 2400) __builtin_trap();
    if (loss.has_ack_eliciting_in_flight() != (loss.bytes_in_flight() > 0)) __builtin_trap();
  }
  return 0;
}
