// Signed channels with repairs, on real sockets: with losses, and with a member that forges
#include <linux/filter.h>

#include <filesystem>
#include <fstream>

#include "channel_node/channel_hosts.h"
#include "channel_node/forger_process.h"

namespace sheaf::channel_node {
namespace {

// Lets the kernel drop this share of what comes to each socket of the group in this process, at
// random. Returns how many sockets there are.
std::size_t drop_from_group(double share) {
  const auto kept_from = static_cast<std::uint32_t>(share * 0x1'0000);
  std::array<sock_filter, 5> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_RANDOM)),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kept_from, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0xffff'ffff),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    sockaddr_in name{};
    socklen_t size = sizeof name;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) continue;
    if (name.sin_family != AF_INET || ntohs(name.sin_port) != k_group_port) continue;
    EXPECT_EQ(setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
    ++count;
  }
  return count;
}

// Whether this thread's host is a member of the group
bool is_member() {
  std::ifstream file("/proc/thread-self/net/igmp");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find("020762E8") != std::string::npos;  // 232.98.7.2
}

TEST(ProvenGroup, ComesByMulticast) {
  between_hosts([](io::TwoHosts& hosts) {
    ChannelHosts world(hosts, to_signed_group(), {});
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kReceiving));
    const std::string text = pattern(1'000'000);
    world.send(text);
    EXPECT_TRUE(world.run_until_received(text.size()));
    EXPECT_EQ(world.receivers[0].text, text);
    const quic::ReceiverCounts counts = world.receivers[0].counts();
    EXPECT_GT(counts.from_group, counts.from_unicast);
    EXPECT_EQ(counts.forged, 0u);
    EXPECT_EQ(world.channel->source().served().by_group, 1u);
    EXPECT_EQ(world.channel->source().reception().joins, 1u);
  });
}

void expect_to_come_with(quic::AuthenticationScheme scheme) {
  between_hosts([scheme](io::TwoHosts& hosts) {
    SourceSettings settings = to_signed_group();
    settings.scheme = scheme;
    ChannelHosts world(hosts, settings, {});
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kReceiving));
    const std::string text = pattern(300'000);
    world.send(text);
    EXPECT_TRUE(world.run_until_received(text.size()));
    EXPECT_EQ(world.receivers[0].text, text);
    EXPECT_GT(world.receivers[0].counts().from_group, 0u);
    EXPECT_EQ(world.receivers[0].counts().forged, 0u);
    EXPECT_FALSE(world.channel->offer().repairs);
  });
}

TEST(ProvenGroup, ComesWithASignatureBehindEachPacket) {
  expect_to_come_with(quic::AuthenticationScheme::kPacketSignatures);
}

TEST(ProvenGroup, ComesWithTagsWhoseKeysAreDisclosedLater) {
  expect_to_come_with(quic::AuthenticationScheme::kTimed);
}

TEST(ProvenGroup, IsRepairedWherePacketsAreLost) {
  between_hosts([](io::TwoHosts& hosts) {
    ChannelHosts world(hosts, to_signed_group(), {}, 3);
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kReceiving));
    ASSERT_EQ(drop_from_group(0.05), 3u);
    const std::string text = pattern(3'000'000);
    world.send(text);
    EXPECT_TRUE(world.run_until_received(text.size()));
    EXPECT_GT(world.channel->source().repair_counts().repairs, 0u);
    for (auto& receiver : world.receivers) {
      EXPECT_EQ(receiver.text, text);
      EXPECT_GT(receiver.counts().lost, 0u);
      EXPECT_GT(receiver.counts().recovered, 0u);
      EXPECT_EQ(receiver.counts().expired, 0u);
      EXPECT_EQ(receiver.counts().forged, 0u);
    }
    // What receivers say reaches the source with their next reports.
    EXPECT_TRUE(world.run_until([&] {
      const quic::Reception& said = world.channel->source().reception();
      return said.received > 0 && said.lost > 0 && said.recovered > 0;
    }));
  });
}

// Gives the forger the keys of a member, and lets it follow the channel until `done`.
class ForgedWorld {
 public:
  ForgedWorld(io::TwoHosts& hosts, const SourceSettings& settings) : world(hosts, settings, {}) {
    EXPECT_TRUE(world.run_until_state(quic::ListenState::kReceiving));
  }
  void begin(ForgerProcess& forger, std::chrono::microseconds interval) {
    quic::ChannelSource& source = world.channel->source();
    forger.start(source.offer(), *source.poll_key(*source.add_receiver()), interval);
  }
  template <typename Done>
  bool run_until(ForgerProcess& forger, Done&& done) {
    return world.run_until([&] {
      forger.follow(world.channel->source().ring().end());
      return done();
    });
  }
  ChannelHosts world;
};

TEST(ProvenGroup, BringsNothingThatAMemberForges) {
  between_hosts([](io::TwoHosts& hosts) {
    hosts.enter(0);
    ForgerProcess forger;
    SourceSettings settings = to_signed_group();
    settings.key_interval = std::chrono::hours(1);  // the forger gets one
    ForgedWorld forged(hosts, settings);
    forged.begin(forger, std::chrono::milliseconds(4));
    ASSERT_TRUE(forged.run_until(forger, [&] { return forger.sent() > 0; }));
    const std::string text = pattern(3'000'000);
    auto& receiver = forged.world.receivers[0];
    forged.world.send(text);
    EXPECT_TRUE(forged.run_until(forger, [&] { return receiver.text.size() >= text.size(); }));
    EXPECT_EQ(receiver.text, text);
    EXPECT_GT(receiver.counts().forged, 0u);
    EXPECT_GT(receiver.counts().from_group, receiver.counts().from_unicast);
  });
}

// The forger spoils the group where nothing is proven. Otherwise the test above would say nothing.
TEST(ProvenGroup, IsSpoiledWhereNothingIsProven) {
  between_hosts([](io::TwoHosts& hosts) {
    hosts.enter(0);
    ForgerProcess forger;
    SourceSettings settings = to_group();
    settings.key_interval = std::chrono::hours(1);
    ForgedWorld forged(hosts, settings);
    forged.begin(forger, std::chrono::milliseconds(4));
    auto& receiver = forged.world.receivers[0];
    // The source has published nothing.
    EXPECT_TRUE(forged.run_until(forger, [&] { return receiver.text.size() >= 200; }));
  });
}

TEST(ProvenGroup, IsLeftWhileItIsFlooded) {
  between_hosts([](io::TwoHosts& hosts) {
    hosts.enter(0);
    ForgerProcess forger;
    SourceSettings settings = to_signed_group();
    settings.key_interval = std::chrono::hours(1);
    ForgedWorld forged(hosts, settings);
    EXPECT_TRUE(is_member());
    auto& receiver = forged.world.receivers[0];
    forged.begin(forger, std::chrono::microseconds(50));
    ASSERT_TRUE(forged.run_until(forger, [&] { return !is_member(); }));
    EXPECT_GT(receiver.counts().pauses, 0u);
    const std::string text = pattern(500'000);
    forged.world.send(text);
    EXPECT_TRUE(forged.run_until(forger, [&] { return receiver.text.size() >= text.size(); }));
    EXPECT_EQ(receiver.text, text);
    forger.stop();
    EXPECT_TRUE(forged.run_until(forger, [&] { return is_member(); }));
    EXPECT_TRUE(forged.world.run_until_state(quic::ListenState::kReceiving));
  });
}

}  // namespace
}  // namespace sheaf::channel_node
