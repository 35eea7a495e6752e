// Tests that the acknowledgements of one moment may be concluded together.
#include <deque>

#include "recovery/loss_fixture.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

// One sender with a record of its own. `Side` settles the same frames as another one, and differs
// from it in how often it concludes.
class Side {
 public:
  explicit Side(CongestionController& controller) : loss_(PathId{0}, rtt_, controller) {}

  void send(Time now) {
    loss_.sent().add_frame(numbered(SentFrame::Kind::kStream, loss_.sent().next_number()));
    const PacketNumber number = loss_.sent().commit(
        {.time_sent = now, .bytes = k_datagram, .ack_eliciting = true, .in_flight = true});
    loss_.on_packet_sent(number, now);
  }
  void settle(const std::vector<AckRange>& ranges, Time now) {
    ASSERT_TRUE(loss_.settle(AckBuilder(ranges).frame(),
                             {.max_ack_delay = k_max_ack_delay, .handshake_confirmed = true}, now,
                             listener_));
  }
  void conclude(Time now) { loss_.conclude(now, listener_); }

  std::vector<std::uint64_t> lost() const { return sorted(listener_.lost); }
  std::vector<std::uint64_t> acknowledged() const { return sorted(listener_.acknowledged); }
  const RttEstimator& rtt() const { return rtt_; }
  const LossDetection& loss() const { return loss_; }
  Time next_timeout() const {
    return loss_.next_timeout({.max_ack_delay = k_max_ack_delay, .may_probe = true});
  }

 private:
  static std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> numbers) {
    std::ranges::sort(numbers);
    return numbers;
  }

  RttEstimator rtt_;
  RecordingListener listener_;
  LossDetection loss_;
};

// Collects what a receiver has, as ranges of an ACK frame.
class Arrived {
 public:
  void add(PacketNumber number) {
    if (numbers_.size() <= number) numbers_.resize(number + 1);
    numbers_[number] = true;
  }
  std::vector<AckRange> ranges() const {
    std::vector<AckRange> ranges;
    for (PacketNumber n = numbers_.size(); n-- > 0 && ranges.size() < 64;) {
      if (!numbers_[n]) continue;
      if (!ranges.empty() && ranges.back().first == n + 1) {
        ranges.back().first = n;
      } else {
        ranges.push_back({n, n});
      }
    }
    return ranges;
  }

 private:
  std::vector<bool> numbers_;
};

// Sends packets one at a time over a path of 50 ms. The receiver acknowledges each that arrives,
// and up to sixteen of these frames come back at once.
struct Exchange {
  Exchange(std::uint64_t number, bool shuffles) : seed(number), reorders(shuffles) {}

  std::uint64_t seed;
  bool reorders;
  RecordingController single_controller;
  RecordingController batch_controller;
  Side single{single_controller};
  Side batch{batch_controller};

  void run(PacketNumber packets) {
    SeededRandom random(seed);
    Arrived arrived;
    std::deque<PacketNumber> in_flight;
    std::vector<std::vector<AckRange>> frames;
    std::uint64_t together = 1;
    Time now = at_ms(1000);
    for (PacketNumber number = 0; number < packets + 50; ++number) {
      now += 1ms;
      const bool sends = number < packets;
      if (sends) {
        single.send(now);
        batch.send(now);
        // The last ones arrive, so that nothing stays open.
        if (random.below(10) != 0 || number + 8 > packets) in_flight.push_back(number);
      }
      if (reorders && in_flight.size() > 20 && random.below(4) == 0) {
        std::swap(in_flight[in_flight.size() - 1], in_flight[in_flight.size() - 7]);
      }
      while (!in_flight.empty() && (in_flight.front() + 50 <= number)) {
        arrived.add(in_flight.front());
        in_flight.pop_front();
        frames.push_back(arrived.ranges());
      }
      if (frames.size() < together && number + 1 < packets + 50) continue;
      for (const auto& frame : frames) {
        single.settle(frame, now);
        single.conclude(now);
        batch.settle(frame, now);
      }
      batch.conclude(now);
      frames.clear();
      together = 1 + random.below(16);
    }
  }
};

std::uint64_t acknowledged_bytes(const RecordingController& controller) {
  std::uint64_t sum = 0;
  for (const AckSample& sample : controller.acknowledgements) sum += sample.acknowledged_bytes;
  return sum;
}

std::uint64_t lost_bytes(const RecordingController& controller) {
  std::uint64_t sum = 0;
  for (const LossSample& sample : controller.losses) sum += sample.lost_bytes;
  return sum;
}

std::uint32_t rtt_samples(const RecordingController& controller) {
  std::uint32_t sum = 0;
  for (const AckSample& sample : controller.acknowledgements) sum += sample.rtt_samples;
  return sum;
}

TEST(AcknowledgedBatch, InOrderItLeadsToTheSameOutcome) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Exchange exchange(seed, false);
    exchange.run(1000);
    const Side& single = exchange.single;
    const Side& batch = exchange.batch;
    EXPECT_GT(single.lost().size(), 50u);
    EXPECT_EQ(batch.lost(), single.lost());
    EXPECT_EQ(batch.acknowledged(), single.acknowledged());
    EXPECT_EQ(batch.rtt().smoothed(), single.rtt().smoothed());
    EXPECT_EQ(batch.rtt().variance(), single.rtt().variance());
    EXPECT_EQ(batch.rtt().minimum(), single.rtt().minimum());
    EXPECT_EQ(batch.loss().bytes_in_flight(), 0u);
    EXPECT_EQ(batch.loss().packets_lost(), single.loss().packets_lost());
    EXPECT_EQ(batch.loss().spurious_losses(), 0u);
    EXPECT_EQ(batch.next_timeout(), single.next_timeout());
    const RecordingController& of_batch = exchange.batch_controller;
    const RecordingController& of_single = exchange.single_controller;
    EXPECT_EQ(acknowledged_bytes(of_batch), acknowledged_bytes(of_single));
    EXPECT_EQ(lost_bytes(of_batch), lost_bytes(of_single));
    EXPECT_EQ(rtt_samples(of_batch), rtt_samples(of_single));
    EXPECT_LT(of_batch.acknowledgements.size(), of_single.acknowledgements.size() / 4);
  }
}

// A frame that comes a moment later may say that a packet arrived after all. A batch knows it
// before it looks for losses.
TEST(AcknowledgedBatch, OutOfOrderItOnlyAvoidsSpuriousLosses) {
  std::uint64_t avoided = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Exchange exchange(seed, true);
    exchange.run(1000);
    const auto lost = exchange.batch.lost();
    const auto lost_singly = exchange.single.lost();
    EXPECT_EQ(exchange.batch.acknowledged(), exchange.single.acknowledged());
    EXPECT_TRUE(std::ranges::includes(lost_singly, lost));
    EXPECT_EQ(lost_singly.size() - lost.size(),
              exchange.single.loss().spurious_losses() - exchange.batch.loss().spurious_losses());
    avoided += lost_singly.size() - lost.size();
  }
  EXPECT_GT(avoided, 0u);
}

TEST(AcknowledgedBatch, TheWindowGrowsTheSame) {
  for (const auto algorithm : {CongestionAlgorithm::kNewReno, CongestionAlgorithm::kCubic}) {
    const auto of_single = make_congestion_controller({.algorithm = algorithm});
    const auto of_batch = make_congestion_controller({.algorithm = algorithm});
    Side single(*of_single);
    Side batch(*of_batch);
    Time now = at_ms(1000);
    PacketNumber next = 0;
    for (int round = 0; round < 6; ++round) {
      const PacketNumber first = next;
      for (; (next - first + 1) * k_datagram <= of_batch->window(); ++next) {
        single.send(now);
        batch.send(now);
      }
      now += 100ms;
      for (PacketNumber number = first; number < next; ++number) {
        single.settle({{number, number}}, now);
        single.conclude(now);
        batch.settle({{number, number}}, now);
        if (number % 5 == 4) batch.conclude(now);
      }
      batch.conclude(now);
      EXPECT_EQ(of_batch->window(), of_single->window()) << of_batch->name();
    }
    EXPECT_GT(of_batch->window(), 100u * k_datagram);
  }
}

// --- what may happen in the middle of a batch ---------------------------------------------------

class OpenBatch : public LossDetectionTest {
 protected:
  void settle(const std::vector<AckRange>& ranges, Time now) {
    EXPECT_TRUE(loss_.settle(AckBuilder(ranges).frame(), context_, now, listener_));
  }
};

TEST_F(OpenBatch, LossesWaitForItsEnd) {
  send_many(10, at_ms(0));
  settle({{4, 5}}, at_ms(100));
  settle({{8, 9}}, at_ms(100));
  EXPECT_TRUE(listener_.lost.empty());
  EXPECT_TRUE(controller_.acknowledgements.empty());
  EXPECT_EQ(listener_.acknowledged.size(), 4u);
  settle({{6, 7}}, at_ms(100));
  loss_.conclude(at_ms(100), listener_);
  EXPECT_EQ(listener_.lost, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  ASSERT_EQ(controller_.acknowledgements.size(), 1u);
  EXPECT_EQ(controller_.acknowledgements[0].acknowledged_bytes, 6u * k_datagram);
  EXPECT_EQ(controller_.acknowledgements[0].bytes_in_flight_before, 10u * k_datagram);
  EXPECT_EQ(controller_.acknowledgements[0].largest_acknowledged, 9u);
  loss_.conclude(at_ms(101), listener_);
  EXPECT_EQ(controller_.acknowledgements.size(), 1u);
}

TEST_F(OpenBatch, TheSmallestSampleCountsAndSoDoTheirNumber) {
  for (int i = 0; i < 4; ++i) send(at_ms(10 * i));
  settle({{0, 0}}, at_ms(100));
  settle({{0, 2}}, at_ms(100));
  settle({{1, 1}}, at_ms(100));  // old news gives none
  loss_.conclude(at_ms(100), listener_);
  ASSERT_EQ(controller_.acknowledgements.size(), 1u);
  EXPECT_EQ(controller_.acknowledgements[0].smallest_rtt, 80ms);
  EXPECT_EQ(controller_.acknowledgements[0].rtt_samples, 2u);
}

// Each frame passes all packets above the gap. A hostile peer could repeat that for every few bytes
// it sends.
TEST_F(OpenBatch, ManyFramesAboveAGapEndIt) {
  send_many(5000, at_ms(0));
  settle({{1, 4000}}, at_ms(100));
  EXPECT_TRUE(listener_.lost.empty());
  settle({{1, 4001}}, at_ms(100));
  EXPECT_EQ(listener_.lost, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(controller_.acknowledgements.size(), 1u);
}

TEST_F(OpenBatch, ANewControllerHearsNothingOfTheOldWay) {
  send_many(10, at_ms(0));
  settle({{5, 9}}, at_ms(100));
  RecordingController after;
  loss_.set_controller(after);
  loss_.conclude(at_ms(100), listener_);
  EXPECT_EQ(listener_.lost.size(), 5u);  // their frames are sent again all the same
  EXPECT_TRUE(after.acknowledgements.empty());
  EXPECT_TRUE(after.losses.empty());
  EXPECT_TRUE(controller_.acknowledgements.empty());
}

TEST_F(OpenBatch, AbandonedItReportsNothing) {
  send_many(10, at_ms(0));
  settle({{5, 9}}, at_ms(100));
  loss_.abandon_outstanding(listener_);
  loss_.conclude(at_ms(100), listener_);
  EXPECT_EQ(listener_.lost.size(), 5u);
  EXPECT_TRUE(controller_.acknowledgements.empty());
}

}  // namespace
}  // namespace sheaf::quic
