#include "io/group_membership.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "io/two_hosts.h"
#include "io/udp_batches.h"

namespace sheaf::io {
namespace {

using quic::Address;

struct Addresses {
  const char* name;
  const char* source;
  const char* foreign;
  const char* group;
};
constexpr Addresses k_ipv4{"Ipv4", "10.98.0.1", "10.98.0.3", "232.98.7.1"};
constexpr Addresses k_ipv6{"Ipv6", "fd98::1", "fd98::3", "ff35::8000:99"};
constexpr std::uint16_t k_port = 5498;
constexpr std::size_t k_datagram = 1200;

struct Member {
  std::unique_ptr<UdpSocket> socket;
  GroupMembership membership;

  bool join() { return static_cast<bool>(join_group(socket->descriptor(), membership)); }
  bool leave() { return static_cast<bool>(leave_group(socket->descriptor(), membership)); }
};

Member open_member(const char* source, const char* group) {
  Member member;
  member.socket = open_socket(group, {.group_member = true}, k_port);
  member.membership = {*parse_address(source, 0), *parse_address(group, k_port)};
  member.membership.interface = interface_towards(member.membership.source).value_or(0);
  EXPECT_NE(member.membership.interface, 0u);
  return member;
}

struct Sender {
  std::unique_ptr<UdpSocket> socket;
  Address group;

  // Sends datagrams whose first byte is `mark`.
  void send(std::size_t count, std::uint8_t mark) {
    Batch batch(count, k_datagram, k_datagram);
    for (std::size_t i = 0; i < count; ++i) batch.bytes[i * k_datagram] = mark;
    batch.value.path.remote = group;
    ASSERT_EQ(socket->send(batch.value), SendOutcome::kSent);
  }
};

Sender open_group_sender(const char* source, const char* group) {
  Sender sender{open_socket(source), *parse_address(group, k_port)};
  const auto interface = interface_with(*parse_address(source, 0));
  EXPECT_TRUE(interface);
  const auto ready = prepare_group_sending(sender.socket->descriptor(), sender.group,
                                           {.interface = interface.value_or(0), .hops = 8});
  EXPECT_TRUE(ready) << ready.error().message;
  return sender;
}

void expect_marks(const std::vector<ReceivedDatagram>& datagrams, std::size_t count,
                  std::uint8_t mark, const char* source) {
  ASSERT_EQ(datagrams.size(), count);
  for (const auto& datagram : datagrams) {
    EXPECT_EQ(datagram.payload.size(), k_datagram);
    EXPECT_EQ(datagram.payload[0], mark);
    EXPECT_TRUE(datagram.path.remote.same_ip(*parse_address(source, 0)));
  }
}

// Runs `work` in a thread that moves between two hosts.
void between_hosts(const std::function<void(TwoHosts&)>& work) {
  std::string missing;
  std::thread([&] {
    TwoHosts hosts;
    missing = hosts.set_up();
    if (missing.empty()) work(hosts);
  }).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

class GroupMembershipTest : public testing::TestWithParam<Addresses> {};

TEST_P(GroupMembershipTest, HearsItsSourceAlone) {
  between_hosts([](TwoHosts& hosts) {
    const auto [name, source, foreign, group] = GetParam();
    hosts.enter(1);
    Member member = open_member(source, group);
    Member other = open_member(foreign, group);
    ASSERT_TRUE(member.join());
    ASSERT_TRUE(other.join());
    hosts.enter(0);
    Sender right = open_group_sender(source, group);
    Sender wrong = open_group_sender(foreign, group);
    wrong.send(10, 2);
    // They have reached the host, whose kernel keeps them from the first member.
    expect_marks(receive(*other.socket, 10), 10, 2, foreign);
    right.send(40, 1);
    expect_marks(receive(*member.socket, 40), 40, 1, source);
  });
}

TEST_P(GroupMembershipTest, HearsNothingBetweenLeavingAndJoiningAgain) {
  between_hosts([](TwoHosts& hosts) {
    const auto [name, source, foreign, group] = GetParam();
    hosts.enter(1);
    Member member = open_member(source, group);
    Member witness = open_member(source, group);
    ASSERT_TRUE(member.join());
    ASSERT_TRUE(witness.join());
    EXPECT_FALSE(member.join()) << "twice";
    hosts.enter(0);
    Sender sender = open_group_sender(source, group);
    sender.send(5, 1);
    expect_marks(receive(*member.socket, 5), 5, 1, source);
    ASSERT_TRUE(member.leave());
    sender.send(5, 2);
    receive(*witness.socket, 10);
    ASSERT_TRUE(member.join());
    sender.send(5, 3);
    expect_marks(receive(*member.socket, 5), 5, 3, source);
  });
}

// A socket that joined nothing hears nothing, although another one of the host has joined.
TEST_P(GroupMembershipTest, HearsNothingThatOthersJoined) {
  between_hosts([](TwoHosts& hosts) {
    const auto [name, source, foreign, group] = GetParam();
    hosts.enter(1);
    Member member = open_member(source, group);
    Member idle = open_member(source, group);
    ASSERT_TRUE(member.join());
    hosts.enter(0);
    Sender sender = open_group_sender(source, group);
    sender.send(5, 1);
    EXPECT_EQ(receive(*member.socket, 5).size(), 5u);
    EXPECT_EQ(idle.socket->receive([](const quic::Datagram&) {}), 0u);
  });
}

TEST_P(GroupMembershipTest, ReportsWhyItCannotJoin) {
  const auto [name, source, foreign, group] = GetParam();
  Member member;
  member.socket = open_socket(group, {.group_member = true}, k_port);
  member.membership = {*parse_address(source, 0), *parse_address(group, k_port), 9999};
  const auto refused = join_group(member.socket->descriptor(), member.membership);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().number, ENODEV);
  EXPECT_NE(refused.error().message.find(group), std::string::npos) << refused.error().message;
}

INSTANTIATE_TEST_SUITE_P(Families, GroupMembershipTest, testing::Values(k_ipv4, k_ipv6),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace sheaf::io
