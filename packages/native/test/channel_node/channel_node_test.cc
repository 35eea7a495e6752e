#include <fstream>
#include <sstream>

#include "channel_node/channel_hosts.h"

namespace sheaf::channel_node {
namespace {

// Packets that this host has sent to groups of IPv4, as its kernel counts
std::uint64_t sent_to_groups() {
  std::ifstream file("/proc/thread-self/net/netstat");
  std::string names;
  std::string values;
  while (std::getline(file, names) && std::getline(file, values)) {
    std::istringstream name_words(names);
    std::istringstream value_words(values);
    std::string name;
    std::string value;
    while (name_words >> name && value_words >> value) {
      if (name == "OutMcastPkts") return std::stoull(value);
    }
  }
  ADD_FAILURE() << "the kernel does not count packets to groups";
  return 0;
}

TEST(ChannelNodes, AGroupComesByMulticast) {
  between_hosts([](io::TwoHosts& hosts) {
    ChannelHosts world(hosts, to_group(), {});
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kReceiving))
        << world.receivers[0].end->join_error();
    const std::string text = pattern(3'000'000);
    world.send(text);
    EXPECT_TRUE(world.run_until_received(text.size()));
    EXPECT_EQ(world.receivers[0].text, text);
    EXPECT_GT(world.receivers[0].counts().from_group, world.receivers[0].counts().from_unicast);
    EXPECT_EQ(world.channel->receivers(), 1u);
    hosts.enter(0);
    EXPECT_GT(sent_to_groups(), 0u);
  });
}

TEST(ChannelNodes, AGroupComesByCopiesWhereNobodyJoins) {
  between_hosts([](io::TwoHosts& hosts) {
    ReceiverSettings settings;
    settings.joins = false;
    ChannelHosts world(hosts, to_group(), settings);
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kWant));
    const std::string text = pattern(1'000'000);
    world.send(text);
    EXPECT_TRUE(world.run_until_received(text.size()));
    EXPECT_EQ(world.receivers[0].text, text);
    EXPECT_EQ(world.receivers[0].counts().from_group, 0u);
    hosts.enter(0);
    EXPECT_EQ(sent_to_groups(), 0u) << "the group has no members";
  });
}

// A server must not make its clients join the groups of others.
TEST(ChannelNodes, AForeignSourceIsNotJoinedUnlessPermitted) {
  between_hosts([](io::TwoHosts& hosts) {
    {
      ChannelHosts world(hosts, to_group(k_other_source), {});
      ASSERT_TRUE(world.run_until_state(quic::ListenState::kWant));
      world.send("by copies");
      EXPECT_TRUE(world.run_until([&] { return world.receivers[0].text == "by copies"; }));
      EXPECT_NE(world.receivers[0].end->join_error().find(k_other_source), std::string::npos);
      EXPECT_EQ(world.receivers[0].counts().from_group, 0u);
    }
    ReceiverSettings permitted;
    permitted.sources.push_back(*io::parse_address(k_other_source, 0));
    ChannelHosts world(hosts, to_group(k_other_source), permitted);
    EXPECT_TRUE(world.run_until_state(quic::ListenState::kReceiving));
    EXPECT_EQ(world.receivers[0].end->join_error(), "");
  });
}

// The group's port is taken by a socket that does not share it.
TEST(ChannelNodes, AGroupThatCannotBeJoinedComesByCopies) {
  between_hosts([](io::TwoHosts& hosts) {
    hosts.enter(1);
    const auto occupied = io::UdpSocket::open(*io::parse_address("0.0.0.0", k_group_port), {});
    ASSERT_TRUE(occupied);
    ChannelHosts world(hosts, to_group(), {});
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kWant));
    EXPECT_NE(world.receivers[0].end->join_error().find("EADDRINUSE"), std::string::npos);
    world.send("by copies");
    EXPECT_TRUE(world.run_until([&] { return world.receivers[0].text == "by copies"; }));
  });
}

TEST(ChannelNodes, AGroupThatCouldNotBeJoinedIsJoinedLater) {
  between_hosts([](io::TwoHosts& hosts) {
    hosts.enter(1);
    auto occupied = io::UdpSocket::open(*io::parse_address("0.0.0.0", k_group_port), {});
    ASSERT_TRUE(occupied);
    ReceiverSettings settings;
    settings.join_again = std::chrono::milliseconds(100);
    ChannelHosts world(hosts, to_group(), settings);
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kWant));
    EXPECT_NE(world.receivers[0].end->join_error().find("EADDRINUSE"), std::string::npos);
    occupied->reset();
    EXPECT_TRUE(world.run_until_state(quic::ListenState::kReceiving));
    EXPECT_EQ(world.receivers[0].end->join_error(), "");
  });
}

TEST(ChannelNodes, AReceiverThatLeavesIsForgotten) {
  between_hosts([](io::TwoHosts& hosts) {
    ChannelHosts world(hosts, to_group(), {});
    ASSERT_TRUE(world.run_until_state(quic::ListenState::kReceiving));
    EXPECT_TRUE(world.serves());
    world.receivers[0].end->leave(io::monotonic_now());
    ASSERT_TRUE(world.run_until([&] { return world.channel->receivers() == 0; }));
    EXPECT_FALSE(world.serves());
    EXPECT_EQ(world.receivers[0].end->request().left(), quic::LeaveReason::kWish);
  });
}

}  // namespace
}  // namespace sheaf::channel_node
