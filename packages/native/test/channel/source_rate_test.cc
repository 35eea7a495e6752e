#include <gtest/gtest.h>

#include "channel/pair.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_slow_rate = 20'000;
constexpr std::uint64_t k_full_rate = 200'000;

// A source that always has something to send, and receivers that say what tests want
class FollowingSource {
 public:
  explicit FollowingSource(std::size_t receivers = 0) {
    for (std::size_t id = 0; id < receivers; ++id) {
      add();
      say(id, ListenState::kReceiving);
    }
  }

  void add() {
    EXPECT_EQ(*source.add_receiver(), reports_.size());
    reports_.emplace_back();
  }
  void say(std::size_t id, ListenState state) {
    source.on_state(static_cast<ChannelSource::ReceiverId>(id), {.state = state}, now);
  }
  // Returns the bytes that were sent meanwhile.
  std::uint64_t pass(Duration time) {
    std::uint64_t sent = 0;
    for (const Time end = now + time; now < end; now += 10ms) {
      source.on_timeout(now);
      written_ += source.write(group_, content_, false).bytes;
      if (written_ > 1'000'000 && source.reset(group_, 0)) {
        group_ = *source.open_group();
        written_ = 0;
      }
      for (Bytes batch; !(batch = source.poll_transmit(48, now)).empty();) {
        source.feeds_group(now);
        sent += batch.size();
      }
    }
    return sent;
  }
  // A receiver reports, and lost all packets since its last report, or none.
  void report(std::size_t id, bool loses) {
    ChannelReport& report = reports_[id];
    const PacketNumber from = std::exchange(report.end, source.ring().end());
    ++report.sequence;
    report.missing = {};
    if (loses && from < report.end) report.missing.push_back({from, report.end});
    if (loses) report.lost += report.end - from;
    source.on_report(static_cast<ChannelSource::ReceiverId>(id), report, now, 20ms);
  }
  std::uint64_t rate() const { return source.counts().rate; }

  Time now = k_pair_start;

 private:
  static SourceConfig config() {
    SourceConfig config{.offer = ChannelPair::unsigned_offer(), .slowest_rate = k_slow_rate};
    config.offer.max_rate = k_full_rate;
    return config;
  }

  SeededRandom random_{5};
  NoAuthenticator authenticator_;

 public:
  ChannelSource source{config(), authenticator_, random_};

 private:
  StreamId group_ = *source.open_group();
  std::uint64_t written_ = 0;  // of the group
  std::vector<ChannelReport> reports_;
  std::vector<std::uint8_t> content_ = std::vector<std::uint8_t>(10'000);
};

TEST(SourceRate, IsTheFullOneWhileNobodyReliesOnTheGroup) {
  FollowingSource run;
  EXPECT_EQ(run.rate(), k_full_rate);
  run.add();
  run.pass(1s);
  EXPECT_GT(run.pass(1s), k_full_rate * 9 / 10) << "for copies";
  run.say(0, ListenState::kReceiving);
  EXPECT_EQ(run.rate(), k_slow_rate);
  for (int i = 0; i < 20; ++i) {
    run.pass(100ms);
    run.report(0, false);
  }
  EXPECT_GT(run.rate(), 8 * k_slow_rate);
  run.source.remove_receiver(0);
  run.pass(1s);
  EXPECT_EQ(run.rate(), k_full_rate);
}

TEST(SourceRate, IsTheSlowestWhileMembersWaitForTheGroup) {
  FollowingSource run;
  run.add();
  run.say(0, ListenState::kJoined);
  EXPECT_EQ(run.rate(), k_slow_rate);
  run.pass(2900ms);
  EXPECT_EQ(run.rate(), k_slow_rate);
  run.pass(200ms);
  EXPECT_EQ(run.rate(), k_full_rate) << "nobody heard it, and the source pauses";
  run.pass(1s);
  EXPECT_EQ(run.rate(), k_slow_rate) << "it tries again";
  run.pass(1s);
  EXPECT_EQ(run.rate(), k_full_rate);
  run.say(0, ListenState::kReceiving);
  EXPECT_EQ(run.rate(), k_slow_rate);
  run.say(0, ListenState::kLeft);
  EXPECT_EQ(run.rate(), k_full_rate);
}

// It loses everything whenever it may, which nobody's way does.
TEST(SourceRate, ALiarSlowsTheOthersLessAndLessOften) {
  constexpr std::size_t liar = 4;
  FollowingSource run(5);
  int slow = 0;
  constexpr int intervals = 3000;
  for (int i = 0; i < intervals; ++i) {
    run.pass(100ms);
    for (std::size_t id = 0; id < 5; ++id) run.report(id, id == liar);
    if (run.rate() < k_full_rate / 2) ++slow;
  }
  // It is put to copies after three seconds, for half a minute, then for one, two and four.
  EXPECT_TRUE(run.source.held().is_held(liar));
  EXPECT_EQ(run.source.held().moves(), 4u);
  EXPECT_LT(slow, intervals / 10);
  EXPECT_EQ(run.rate(), k_full_rate);
}

}  // namespace
}  // namespace sheaf::quic
