// Compares loss detection by sender with a plain model that knows every packet, under random loss,
// reordering, refusals and deaths of senders.
#include <algorithm>
#include <array>

#include "recovery/loss_fixture.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

using State = SentPacket::State;

constexpr std::uint8_t k_senders = 4;  // with this node

class World : private LossParts {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    for (std::uint8_t sender = 1; sender < k_senders; ++sender) open(sender);
  }

  void step() {
    now_ += std::chrono::microseconds(random_.below(1500));
    fire_timer();
    switch (random_.below(16)) {
      case 0:
        loss_.sent().skip_number();
        packets_.push_back({.state = State::kSkipped});
        break;
      case 1:
        send({.bytes = 40});
        break;
      case 2:
      case 3:
        send({.bytes = k_datagram, .ack_eliciting = true, .in_flight = true});
        break;
      case 4:
        if (!runs_.empty())
          refuse(runs_[runs_.size() - 1 - random_.below(std::min<std::size_t>(runs_.size(), 3))]);
        break;
      case 5:
        if (random_.below(20) == 0) abandon(random_sender());
        break;
      case 6:
      case 7:
      case 8:
      case 9:
        acknowledge();
        break;
      default:
        order_run();
    }
    compare();
  }
  void finish() {
    for (int i = 0; i < 5; ++i) {
      send({.bytes = k_datagram, .ack_eliciting = true, .in_flight = true});
      packets_.back().arrives = now_;
    }
    for (int i = 0; i < 40; ++i) {
      now_ += 50ms;
      fire_timer();
      acknowledge();
      compare();
    }
    EXPECT_EQ(loss_.bytes_in_flight(), 0u);
    EXPECT_FALSE(loss_.runs_in_flight());
  }
  // What the run of a seed has to contain, or it compares little.
  struct Seen {
    std::uint64_t lost_by_threshold = 0;
    std::uint64_t lost_by_time = 0;
    std::uint64_t spurious = 0;
    std::uint64_t refused = 0;
    std::uint64_t abandoned = 0;
  };
  const Seen& seen() const { return seen_; }

 private:
  struct Packet {
    State state = State::kOutstanding;
    Time time_sent{};
    Time arrives = k_never;
    bool ack_eliciting = false;
    bool in_flight = false;
    bool abandoned = false;
    std::uint8_t sender = 0;
    std::uint16_t bytes = 0;
  };
  struct Run {
    std::uint8_t sender;
    PacketNumber first;
    std::size_t count;
  };

  std::uint8_t random_sender() {
    return static_cast<std::uint8_t>(1 + random_.below(k_senders - 1));
  }
  void open(std::uint8_t sender) {
    const Duration guess = std::chrono::milliseconds(5 + random_.below(40));
    loss_.open_sender(sender, guess);
    rtts_[sender] = RttEstimator(guess);
    largest_[sender] = k_no_packet_number;
    ways_[sender] = std::chrono::milliseconds(10 + random_.below(15));
  }

  // --- what happens -----------------------------------------------------------------------------

  Time arrival(std::uint8_t sender, Time sent) {
    if (random_.below(12) == 0) return k_never;
    const bool late = random_.below(40) == 0;
    return sent + ways_[sender] + std::chrono::microseconds(random_.below(late ? 40'000 : 1'000));
  }
  void send(SentPacket packet) {
    packet.time_sent = now_;
    loss_.sent().add_frame(numbered(SentFrame::Kind::kStream, packets_.size()));
    loss_.on_packet_sent(loss_.sent().commit(packet), now_);
    packets_.push_back({.time_sent = now_,
                        .arrives = arrival(0, now_),
                        .ack_eliciting = packet.ack_eliciting,
                        .in_flight = packet.in_flight,
                        .bytes = packet.bytes});
  }
  void order_run() {
    const std::uint8_t sender = random_sender();
    const std::size_t count = 1 + random_.below(k_max_run);
    Time& leaves = leave_[sender];
    leaves = std::max(leaves, now_ + std::chrono::microseconds(random_.below(2'000)));
    const SentPacket packet{.time_sent = leaves,
                            .bytes = k_datagram,
                            .ack_eliciting = true,
                            .in_flight = true,
                            .sender = sender};
    const RunData data{.offset = packets_.size(), .bytes_per_packet = 1};
    ASSERT_EQ(loss_.number_run(packet, count, data, now_), packets_.size());
    const bool executed = random_.below(10) != 0;
    if (!executed) runs_.push_back({sender, packets_.size(), count});
    for (std::size_t i = 0; i < count; ++i) {
      packets_.push_back({.time_sent = leaves,
                          .arrives = executed ? arrival(sender, leaves) : k_never,
                          .ack_eliciting = true,
                          .in_flight = true,
                          .sender = sender,
                          .bytes = k_datagram});
    }
  }
  void refuse(const Run& run) {
    std::size_t expected = 0;
    for (PacketNumber n = std::max(run.first, loss_.sent().oldest()); n < run.first + run.count;
         ++n) {
      Packet& packet = packets_[n];
      if (packet.state == State::kRefused || packet.abandoned) continue;
      ++expected;
      if (packet.state == State::kOutstanding) lost_.push_back(n);
      packet.state = State::kRefused;
    }
    EXPECT_EQ(loss_.refuse_run(run.sender, run.first, run.count, now_, listener_), expected);
    seen_.refused += expected;
  }
  void abandon(std::uint8_t sender) {
    for (PacketNumber n = loss_.sent().oldest(); n < packets_.size(); ++n) {
      Packet& packet = packets_[n];
      if (packet.sender != sender) continue;
      packet.abandoned = true;
      if (packet.state != State::kOutstanding) continue;
      lose(n);
      ++seen_.abandoned;
    }
    loss_.abandon_sender(sender, listener_);
    open(sender);
  }

  // --- the model --------------------------------------------------------------------------------

  void lose(PacketNumber number) {
    packets_[number].state = State::kLost;
    lost_.push_back(number);
  }
  void acknowledge() {
    std::vector<AckRange> ranges;
    for (PacketNumber n = packets_.size(); n-- > 0 && ranges.size() < 64;) {
      if (packets_[n].arrives > now_) continue;
      if (!ranges.empty() && ranges.back().first == n + 1) {
        ranges.back().first = n;
      } else {
        ranges.push_back({n, n});
      }
    }
    if (ranges.empty()) return;
    context_.ack_delay = std::chrono::microseconds(random_.below(3'000));
    const bool news = settle(ranges);
    const auto result = loss_.settle(AckBuilder(ranges).frame(), context_, now_, listener_);
    ASSERT_TRUE(result);
    EXPECT_EQ(*result == LossDetection::AckNews::kPackets, news);
    loss_.conclude(now_, listener_);
    if (news) detect();
  }
  bool settle(const std::vector<AckRange>& ranges) {
    std::vector<PacketNumber> news;
    for (const AckRange& range : ranges) {
      for (PacketNumber n = std::max(range.first, loss_.sent().oldest()); n <= range.last; ++n) {
        Packet& packet = packets_[n];
        if (packet.state != State::kOutstanding && packet.state != State::kLost) continue;
        seen_.spurious += packet.state == State::kLost ? 1 : 0;
        packet.state = State::kAcknowledged;
        acknowledged_.push_back(n);
        news.push_back(n);
      }
    }
    std::ranges::sort(news);
    if (news.empty()) return false;
    const PacketNumber largest = ranges.front().last;
    const bool eliciting =
        std::ranges::any_of(news, [&](PacketNumber n) { return packets_[n].ack_eliciting; });
    const bool of_path = news.back() == largest && eliciting;
    if (of_path) sample(rtt_model_, largest, context_.ack_delay);
    for (std::uint8_t sender = 0; sender < k_senders; ++sender) {
      sample_sender(sender, news, of_path ? largest : k_no_packet_number);
    }
    largest_of_all_ = largest;
    return true;
  }
  void sample(RttEstimator& rtt, PacketNumber number, Duration ack_delay) {
    rtt.add_sample(now_ - packets_[number].time_sent, ack_delay, k_max_ack_delay, true);
  }
  void sample_sender(std::uint8_t sender, const std::vector<PacketNumber>& news,
                     PacketNumber sampled) {
    PacketNumber newest = k_no_packet_number, newest_eliciting = k_no_packet_number;
    for (const PacketNumber n : news) {
      if (packets_[n].sender != sender || packets_[n].abandoned) continue;
      if (largest_[sender] != k_no_packet_number && n < largest_[sender]) continue;
      newest = n;
      if (packets_[n].ack_eliciting) newest_eliciting = n;
    }
    if (newest == k_no_packet_number) return;
    largest_[sender] = newest;
    if (newest == sampled) {
      sample(rtts_[sender], newest, context_.ack_delay);
    } else if (newest_eliciting != k_no_packet_number) {
      sample(rtts_[sender], newest_eliciting, Duration::zero());
    }
  }
  // Packets that the same sender sent after this one, up to the largest that was acknowledged.
  std::size_t passed_by(PacketNumber number) const {
    const Packet& packet = packets_[number];
    const PacketNumber largest = largest_[packet.sender];
    if (largest == k_no_packet_number) return 0;
    std::size_t passed = 0;
    for (PacketNumber n = number + 1; n <= largest && passed < 3; ++n) {
      const Packet& other = packets_[n];
      const bool was_sent = other.state != State::kSkipped && other.state != State::kRefused;
      passed += other.sender == packet.sender && was_sent ? 1 : 0;
    }
    return passed;
  }
  Time lost_at(const Packet& packet) const {
    const RttEstimator& rtt = rtts_[packet.sender];
    Duration delay = rtt.probe_timeout(Duration::zero());
    if (rtt.has_sample()) {
      delay = rtt.loss_delay() + (packet.sender == 0 ? Duration::zero() : rtt.variance());
    }
    return packet.time_sent + std::max(delay, rtt_model_.loss_delay());
  }
  void detect() {
    for (PacketNumber n = loss_.sent().oldest(); n < largest_of_all_; ++n) {
      if (packets_[n].state != State::kOutstanding) continue;
      const bool by_threshold = passed_by(n) >= 3;
      if (!by_threshold && lost_at(packets_[n]) > now_) continue;
      ++(by_threshold ? seen_.lost_by_threshold : seen_.lost_by_time);
      lose(n);
    }
  }
  void fire_timer() {
    if (loss_.next_timeout(terms_) > now_) return;
    if (loss_.on_timeout(terms_, now_, listener_) == LossDetection::TimeoutAction::kLossDetected) {
      detect();
    }
  }
  void compare() {
    std::uint64_t in_flight = 0;
    bool runs_in_flight = false;
    const SentPackets& sent = loss_.sent();
    ASSERT_EQ(sent.next_number(), packets_.size());
    for (PacketNumber n = sent.oldest(); n < packets_.size(); ++n) {
      const Packet& packet = packets_[n];
      ASSERT_EQ(sent.at(n).state, packet.state) << n;
      if (packet.state != State::kOutstanding || !packet.in_flight) continue;
      in_flight += packet.bytes;
      runs_in_flight |= packet.sender != 0;
      // The timer finds every loss by time.
      if (largest_of_all_ != k_no_packet_number && n < largest_of_all_) {
        ASSERT_LE(loss_.next_timeout(terms_), lost_at(packet)) << n;
      }
    }
    ASSERT_EQ(loss_.bytes_in_flight(), in_flight);
    ASSERT_EQ(loss_.runs_in_flight(), runs_in_flight);
    ASSERT_EQ(rtt_.smoothed(), rtt_model_.smoothed());
    for (std::uint8_t sender = 0; sender < k_senders; ++sender) {
      ASSERT_EQ(loss_.sender_rtt(sender).rtt.smoothed(), rtts_[sender].smoothed());
    }
    ASSERT_EQ(loss_.spurious_losses(), seen_.spurious);
    compare_frames(listener_.lost, lost_);
    compare_frames(listener_.acknowledged, acknowledged_);
  }
  // What the listener was told since the last step is what the model says.
  static void compare_frames(std::vector<std::uint64_t>& told,
                             std::vector<PacketNumber>& expected) {
    std::ranges::sort(told);
    std::ranges::sort(expected);
    ASSERT_EQ(told, expected);
    told.clear();
    expected.clear();
  }

  SeededRandom random_;
  Time now_ = at_ms(1000);
  std::vector<Packet> packets_;
  std::vector<Run> runs_;  // that their senders did not execute
  std::vector<PacketNumber> lost_;
  std::vector<PacketNumber> acknowledged_;
  RttEstimator rtt_model_;
  std::array<RttEstimator, k_senders> rtts_;
  std::array<PacketNumber, k_senders> largest_{k_no_packet_number};
  std::array<Duration, k_senders> ways_{12ms};
  std::array<Time, k_senders> leave_{};  // the latest run of each sender
  PacketNumber largest_of_all_ = k_no_packet_number;
  Seen seen_;
};

TEST(RandomSenders, LossDetectionAgreesWithAPlainModel) {
  World::Seen sum;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int step = 0; step < 400 && !testing::Test::HasFatalFailure(); ++step) world.step();
    world.finish();
    if (testing::Test::HasFailure()) return;
    const World::Seen& seen = world.seen();
    sum.lost_by_threshold += seen.lost_by_threshold;
    sum.lost_by_time += seen.lost_by_time;
    sum.spurious += seen.spurious;
    sum.refused += seen.refused;
    sum.abandoned += seen.abandoned;
  }
  EXPECT_GT(sum.lost_by_threshold, 1000u);
  EXPECT_GT(sum.lost_by_time, 1000u);
  EXPECT_GT(sum.spurious, 1000u);
  EXPECT_GT(sum.refused, 1000u);
  EXPECT_GT(sum.abandoned, 1000u);
}

}  // namespace
}  // namespace sheaf::quic
