#include <gtest/gtest.h>

#include <atomic>

#include "channel_node/channel_hosts.h"

namespace sheaf::channel_node {
namespace {

constexpr std::size_t k_size = 200'000;

SourceSettings with_small_budget() {
  SourceSettings settings = to_group();
  settings.group = {};
  settings.copy_rate = 600'000;
  return settings;
}

// What the receiver has that has the fewest bytes
std::size_t least(const ChannelHosts& site) {
  std::size_t size = k_size;
  for (const auto& receiver : site.receivers) size = std::min(size, receiver.text.size());
  return size;
}

// Receivers whose connections are on a thread that is not that of the source
class OtherThread {
 public:
  OtherThread(std::shared_ptr<SourceNode> channel, std::size_t receivers)
      : thread_([this, channel = std::move(channel), receivers]() mutable {
          ChannelHosts site({}, std::move(channel), {}, receivers);
          EXPECT_TRUE(site.run_until_state(quic::ListenState::kWant));
          ready = true;
          EXPECT_TRUE(site.run_until([&] {
            has_all = least(site) == k_size;
            is_over = std::ranges::all_of(site.receivers, [](const auto& one) {
              return one.end->request().over().has_value();
            });
            return ending.load();
          }));
          got = least(site);
          gone = true;
        }) {}
  void end() {
    ending = true;
    thread_.join();
  }

  std::atomic<bool> ready = false;
  std::atomic<bool> has_all = false;
  std::atomic<bool> is_over = false;  // for all of its receivers
  std::atomic<bool> ending = false;
  std::atomic<bool> gone = false;
  std::size_t got = 0;  // of the receiver that has the fewest bytes; after `end`

 private:
  std::thread thread_;
};

// Sends to receivers of two threads until those of one have all. Returns what others got of it.
double shared_part(std::size_t here, std::size_t there) {
  ChannelHosts home({}, with_small_budget(), {}, here);
  OtherThread other(home.channel, there);
  EXPECT_TRUE(home.run_until_state(quic::ListenState::kWant));
  EXPECT_TRUE(home.run_until([&] { return other.ready.load(); }));
  const std::string text = pattern(k_size);
  home.send(text);
  EXPECT_TRUE(home.run_until([&] { return least(home) == k_size || other.has_all; }));
  other.end();
  return static_cast<double>(std::min(least(home), other.got)) / static_cast<double>(k_size);
}

TEST(SharedSource, ABudgetThatDoesNotSufficeIsForReceiversOfAllThreads) {
  EXPECT_GT(shared_part(2, 2), 0.5);
}

TEST(SharedSource, EachReceiverHasTheSamePartOfTheBudget) { EXPECT_GT(shared_part(1, 3), 0.5); }

TEST(SharedSource, AThreadMayEndWhileTheSourceSends) {
  ChannelHosts home({}, with_small_budget(), {}, 1);
  OtherThread other(home.channel, 2);
  EXPECT_TRUE(home.run_until([&] { return other.ready.load(); }));
  home.send(pattern(k_size / 4));
  EXPECT_TRUE(home.run_until([&] { return least(home) > 0; }));
  other.ending = true;
  EXPECT_TRUE(home.run_until([&] { return other.gone && least(home) == k_size / 4; }));
  other.end();
}

TEST(SharedSource, TheEndOfTheChannelReachesAllThreads) {
  ChannelHosts home({}, with_small_budget(), {}, 1);
  OtherThread other(home.channel, 2);
  EXPECT_TRUE(home.run_until([&] { return other.ready.load(); }));
  home.send(pattern(k_size));
  EXPECT_TRUE(home.run_until([&] { return least(home) > 0; }));
  home.channel->close({});
  EXPECT_TRUE(home.run_until([&] { return other.is_over.load(); }));
  other.end();
}

}  // namespace
}  // namespace sheaf::channel_node
