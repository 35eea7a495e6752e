// `senders_bench ROUNDS`: what an acknowledgement costs the loss detection of a connection whose
// packets several nodes send. 20,000 packets are in flight, in runs of 32. The peer acknowledges
// ten at a time, in order. With `held`, one more node has sent a single packet, which does not
// arrive and is not lost yet. Prints a JSON line for each case: nanoseconds of one processor per
// ACK, the median of the rounds.
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "recovery/loss_detection.h"

namespace {

using namespace sheaf::quic;

constexpr PacketNumber k_in_flight = 20'000;
constexpr PacketNumber k_per_ack = 10;
constexpr PacketNumber k_acks_in_round = 1'000;
constexpr PacketNumber k_held = 32;  // the number of the packet that does not arrive
constexpr std::uint16_t k_datagram = 1350;

struct NoListener final : SentFrameListener {
  void on_frame_acknowledged(PathId, const SentFrame&) override {}
  void on_frame_lost(PathId, const SentFrame&) override {}
};

class Transfer {
 public:
  Transfer(std::uint8_t senders, bool held) : senders_(senders), held_(held) {
    // A guess so long that time does not find the packet that is held.
    const int all = senders + (held ? 1 : 0);
    for (int sender = 1; sender <= all; ++sender) {
      loss_.open_sender(static_cast<std::uint8_t>(sender), 1h);
    }
    fill();
  }
  std::uint8_t senders() const { return senders_; }
  bool held() const { return held_; }

  double nanoseconds_of_round() {
    std::chrono::steady_clock::duration took{};
    for (PacketNumber i = 0; i < k_acks_in_round; ++i) {
      now_ += 100us;
      const PacketNumber first = acknowledged_;
      acknowledged_ += k_per_ack;
      std::vector<AckRange> ranges{{first, acknowledged_ - 1}};
      if (held_ && first <= k_held && k_held < acknowledged_) {
        ranges = {{k_held + 1, acknowledged_ - 1}, {first, k_held - 1}};
      }
      std::uint8_t bytes[64];
      Writer writer(bytes);
      if (encode_ack(writer, ranges, 0, std::nullopt) != ranges.size()) std::abort();
      Reader reader(writer.written());
      const auto decoded = decode_frame(reader, PacketType::kOneRtt);
      const auto& frame = std::get<AckFrame>(*decoded);
      const auto start = std::chrono::steady_clock::now();
      if (!loss_.settle(frame, {.handshake_confirmed = true}, now_, listener_)) std::abort();
      loss_.conclude(now_, listener_);
      took += std::chrono::steady_clock::now() - start;
      fill();
    }
    return std::chrono::duration<double, std::nano>(took).count() / k_acks_in_round;
  }

 private:
  void fill() {
    while (loss_.sent().next_number() < acknowledged_ + k_in_flight) {
      const bool holds = held_ && loss_.sent().next_number() == k_held;
      const auto sender = static_cast<std::uint8_t>(holds           ? senders_ + 1
                                                    : senders_ == 0 ? 0
                                                                    : 1 + runs_++ % senders_);
      const SentPacket packet{.time_sent = now_,
                              .bytes = k_datagram,
                              .ack_eliciting = true,
                              .in_flight = true,
                              .sender = sender};
      if (sender != 0) {
        loss_.number_run(packet, holds ? 1 : k_max_run, {.bytes_per_packet = 1300}, now_);
        continue;
      }
      loss_.sent().add_frame(SentFrame::for_data({}, 0, 1300, false));
      loss_.on_packet_sent(loss_.sent().commit(packet), now_);
    }
  }

  std::uint8_t senders_;
  bool held_;
  RttEstimator rtt_;
  std::unique_ptr<CongestionController> controller_ = make_congestion_controller({});
  NoListener listener_;
  LossDetection loss_{PathId{0}, rtt_, *controller_};
  PacketNumber acknowledged_ = 0;
  unsigned runs_ = 0;
  Time now_{std::chrono::seconds(1000)};
};

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (rounds == 0) {
    std::fprintf(stderr, "usage: senders_bench ROUNDS\n");
    return 2;
  }
  for (const std::uint8_t senders : std::to_array<std::uint8_t>({0, 1, 4, 7})) {
    for (const bool held : {false, true}) {
      if (held && senders == 0) continue;
      Transfer transfer(senders, held);
      transfer.nanoseconds_of_round();  // warms up
      std::vector<double> took;
      for (unsigned long round = 0; round < rounds; ++round) {
        took.push_back(transfer.nanoseconds_of_round());
      }
      const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
      std::nth_element(took.begin(), middle, took.end());
      std::printf("{\"senders\":%u,\"held\":%s,\"ns_per_ack\":%.0f}\n", unsigned{senders},
                  held ? "true" : "false", *middle);
    }
  }
  return 0;
}
