#include "io/send_only_socket.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/udp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstddef>
#include <functional>
#include <thread>

#include "io/ethernet_tap.h"
#include "io/udp_batches.h"

namespace sheaf::io {
namespace {

using quic::Address;
using quic::Ecn;
using quic::TransmitBatch;

constexpr UdpSocketOptions k_shared{.reuse_port = true};
constexpr const char* k_foreign = "203.0.113.7";

std::unique_ptr<SendOnlySocket> open_sender(const Address& from,
                                            SendWay way = SendWay::kOwnAddress) {
  auto opened = SendOnlySocket::open(from, way);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

SocketError refusal(const Address& from, SendWay way) {
  const auto opened = SendOnlySocket::open(from, way);
  EXPECT_FALSE(opened);
  return opened ? SocketError{} : opened.error();
}

bool contains(const SocketError& error, const char* text) {
  return error.message.find(text) != std::string::npos;
}

// Runs `work` in a thread, whose rights and network may differ from those of this process. Skips
// the test when `work` returns what is missing on this machine.
void in_thread(const std::function<std::string()>& work) {
  std::string missing;
  std::thread([&] { missing = work(); }).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

// Takes all rights from the calling thread.
void drop_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
}

// Runs `work` in a child process; returns its exit code.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class SendOnlySocketTest : public testing::TestWithParam<const char*> {};

TEST_P(SendOnlySocketTest, SendsFromTheAddressOfTheReceivingSocket) {
  const auto gateway = open_socket(GetParam(), k_shared);
  const auto client = open_socket(GetParam());
  const auto sender = open_sender(gateway->local_address());
  ASSERT_TRUE(sender);
  for (const Ecn ecn : {Ecn::kNotEct, Ecn::kEct0, Ecn::kCe}) {
    Batch batch(150, 1350, 700);  // more segments than the kernel takes at once
    batch.value.path.remote = client->local_address();
    batch.value.ecn = ecn;
    ASSERT_EQ(sender->send(batch.value), SendOutcome::kSent);
    const auto datagrams = receive(*client, 150);
    expect_segments(datagrams, batch);
    for (const auto& datagram : datagrams) {
      EXPECT_EQ(datagram.path.remote, gateway->local_address());
      EXPECT_EQ(datagram.ecn, ecn);
    }
  }
}

// Lets `k_clients` sockets send a datagram each, so that a choice by hash would meet every socket
// of the port. Returns how many the receiver got.
std::size_t received_from_many(UdpSocket& receiver, const Address& to) {
  constexpr std::size_t k_clients = 64;
  std::vector<std::unique_ptr<UdpSocket>> clients;
  for (std::size_t i = 0; i < k_clients; ++i) {
    clients.push_back(open_socket(to.family == Address::Family::kIpv6 ? "::1" : "127.0.0.1"));
    Batch batch(1, 100, 100);
    batch.value.path.remote = to;
    EXPECT_EQ(clients.back()->send(batch.value), SendOutcome::kSent);
  }
  return receive(receiver, k_clients).size();
}

bool holds_nothing(const SendOnlySocket& sender) {
  std::uint8_t byte = 0;
  return recv(sender.descriptor(), &byte, 1, MSG_DONTWAIT) < 0 && would_block(errno);
}

TEST_P(SendOnlySocketTest, TakesNoPacketFromTheReceivingSocket) {
  auto gateway = open_socket(GetParam(), k_shared);
  const Address address = gateway->local_address();
  const auto first = open_sender(address);
  const auto second = open_sender(address);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(received_from_many(*gateway, address), 64u);

  // Nobody receives now: the system tells the client so, as for a port without a socket.
  gateway.reset();
  const auto client = open_socket(GetParam());
  sockaddr_storage to;
  const socklen_t length = to_sockaddr(address, address.family == Address::Family::kIpv6, to);
  ASSERT_EQ(connect(client->descriptor(), reinterpret_cast<sockaddr*>(&to), length), 0);
  ASSERT_EQ(send(client->descriptor(), "x", 1, 0), 1);
  EXPECT_EQ(client->take_error(), ECONNREFUSED);

  // A receiving socket that comes after the senders gets everything again.
  gateway = open_socket(GetParam(), k_shared, address.port);
  ASSERT_TRUE(gateway);
  EXPECT_EQ(received_from_many(*gateway, address), 64u);
  EXPECT_TRUE(holds_nothing(*first) && holds_nothing(*second));
}

INSTANTIATE_TEST_SUITE_P(Loopback, SendOnlySocketTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& parameter) {
                           return std::string(parameter.param) == "::1" ? "Ipv6" : "Ipv4";
                         });

TEST(SendOnlySocket, TakesNoPacketFromASocketOfAllAddresses) {
  for (const auto& [any, own] :
       {std::pair{"0.0.0.0", "127.0.0.1"}, {"::", "::1"}, {"::", "127.0.0.1"}}) {
    const auto gateway = open_socket(any, k_shared);
    const Address from = *parse_address(own, gateway->local_address().port);
    const auto sender = open_sender(from);
    ASSERT_TRUE(sender);
    EXPECT_EQ(received_from_many(*gateway, from), 64u) << any << " " << own;
    EXPECT_TRUE(holds_nothing(*sender));
  }
}

TEST(SendOnlySocket, DropsWhatItsFamilyCannotReach) {
  const auto gateway = open_socket("127.0.0.1", k_shared);
  const auto sender = open_sender(gateway->local_address());
  Batch batch(2, 100, 100);
  batch.value.path.remote = *parse_address("::1", 4433);
  EXPECT_EQ(sender->send(batch.value), SendOutcome::kDropped);
}

// Gives `descriptor` to whoever reads `channel` (SCM_RIGHTS).
void pass_descriptor(int channel, int descriptor) {
  char byte = 0;
  iovec vector{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)]{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  EXPECT_EQ(sendmsg(channel, &message, 0), 1);
}

int take_descriptor(int channel) {
  char byte = 0;
  iovec vector{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  int descriptor = -1;
  if (recvmsg(channel, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != nullptr) {
    std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  }
  return descriptor;
}

TEST(SendOnlySocket, SendsFromADescriptorThatAnotherProcessPassed) {
  const auto client = open_socket("127.0.0.1");
  Batch batch(40, 1200, 300);
  batch.value.path.remote = client->local_address();
  int channel[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel), 0);
  Address from = *parse_address("127.0.0.1", 0);
  const pid_t child = fork();
  if (child == 0) {
    // Ends with the number of what failed.
    std::uint16_t port = 0;
    if (recv(channel[1], &port, sizeof port, 0) != sizeof port) _exit(1);
    from.port = port;
    auto sender = SendOnlySocket::adopt(take_descriptor(channel[1]), from);
    if (!sender) _exit(2);
    _exit((*sender)->send(batch.value) == SendOutcome::kSent ? 0 : 3);
  }
  const auto gateway = open_socket("0.0.0.0");  // which shares nothing
  from.port = gateway->local_address().port;
  ASSERT_EQ(send(channel[0], &from.port, sizeof from.port, 0), 2);
  pass_descriptor(channel[0], gateway->descriptor());
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto datagrams = receive(*client, 40);
  expect_segments(datagrams, batch);
  EXPECT_EQ(datagrams.front().path.remote, from);
  // The process has ended, and the gateway still receives.
  EXPECT_EQ(received_from_many(*gateway, from), 64u);
  ::close(channel[0]);
  ::close(channel[1]);
}

TEST(SendOnlySocket, AdoptsOnlyTheSocketOfItsAddress) {
  const auto gateway = open_socket("127.0.0.1");
  const Address bound = gateway->local_address();
  for (const Address& other :
       {*parse_address("127.0.0.2", bound.port), *parse_address("127.0.0.1", bound.port ^ 1),
        *parse_address("127.0.0.1", 0), *parse_address("::1", bound.port)}) {
    const auto sender = SendOnlySocket::adopt(gateway->descriptor(), other);
    EXPECT_FALSE(sender) << to_string(other);
  }
  const int tcp = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_FALSE(SendOnlySocket::adopt(tcp, bound));
  EXPECT_FALSE(SendOnlySocket::adopt(-1, bound));
  EXPECT_EQ(::close(tcp), 0);  // still the caller's
}

TEST(SendOnlySocket, NamesTheRemedyForAnAddressOfAnotherHost) {
  const SocketError error = refusal(*parse_address(k_foreign, 4433), SendWay::kOwnAddress);
  EXPECT_EQ(error.number, EADDRNOTAVAIL);
  EXPECT_TRUE(contains(error, "EADDRNOTAVAIL")) << error.message;
  EXPECT_TRUE(contains(error, "ip addr add 203.0.113.7/32 dev lo")) << error.message;
  EXPECT_TRUE(contains(refusal(*parse_address("2001:db8::7", 4433), SendWay::kOwnAddress),
                       "ip addr add 2001:db8::7/128 dev lo"));
}

TEST(SendOnlySocket, NamesTheRemedyForAPortThatIsNotShared) {
  const auto gateway = open_socket("127.0.0.1");
  const SocketError error = refusal(gateway->local_address(), SendWay::kOwnAddress);
  EXPECT_EQ(error.number, EADDRINUSE);
  EXPECT_TRUE(contains(error, "SO_REUSEPORT")) << error.message;
}

TEST(SendOnlySocket, NeedsOneAddressAndAPort) {
  for (const char* ip : {"0.0.0.0", "::"}) {
    EXPECT_EQ(refusal(*parse_address(ip, 4433), SendWay::kOwnAddress).number, EINVAL);
  }
  EXPECT_EQ(refusal(*parse_address("127.0.0.1", 0), SendWay::kOwnAddress).number, EINVAL);
}

TEST(SendOnlySocket, NamesTheRightThatTransparentSendingNeeds) {
  in_thread([]() -> std::string {
    drop_rights();
    for (const char* ip : {k_foreign, "2001:db8::7"}) {
      const SocketError error = refusal(*parse_address(ip, 4433), SendWay::kTransparent);
      EXPECT_EQ(error.number, EPERM);
      EXPECT_TRUE(contains(error, "CAP_NET_RAW")) << error.message;
    }
    return {};
  });
}

TEST(SendOnlySocket, NamesTheRightThatALowPortNeeds) {
  in_thread([]() -> std::string {
    // Where every port is free to all by this machine's settings, a new network has the default.
    if (unshare(CLONE_NEWNET) != 0) return "no right to make a network namespace";
    drop_rights();
    const SocketError error = refusal(*parse_address("127.0.0.1", 443), SendWay::kOwnAddress);
    EXPECT_EQ(error.number, EACCES);
    EXPECT_TRUE(contains(error, "ip_unprivileged_port_start=443")) << error.message;
    return {};
  });
}

// Makes the system calls of this process refuse UDP_SEGMENT, as kernels before Linux 4.18 do.
bool forbid_segmentation() {
  const auto argument = [](unsigned index) {
    return static_cast<unsigned>(offsetof(seccomp_data, args) + index * 8);
  };
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOL_UDP, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UDP_SEGMENT, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(SendOnlySocket, NamesTheKernelThatSegmentationNeeds) {
  constexpr int k_no_filter = 77;
  const int result = in_child([] {
    if (!forbid_segmentation()) return k_no_filter;
    const auto opened =
        SendOnlySocket::open(*parse_address("127.0.0.1", 4433), SendWay::kOwnAddress);
    if (opened || opened.error().number != ENOPROTOOPT) return 1;
    return contains(opened.error(), "Linux 4.18") ? 0 : 2;
  });
  if (result == k_no_filter) GTEST_SKIP() << "no filter of system calls";
  EXPECT_EQ(result, 0);
}

TransmitBatch to_tap_peer(Batch& batch) {
  batch.value.path.remote = *parse_address(k_tap_peer, 9);
  return batch.value;
}

TEST(SendOnlySocket, SendsFromAnAddressThatThisHostDoesNotHave) {
  in_thread([]() -> std::string {
    EthernetTap tap;
    if (auto missing = tap.set_up(); !missing.empty()) return missing;
    tap.tell_hardware_address();
    const auto sender = open_sender(*parse_address(k_foreign, 443), SendWay::kTransparent);
    if (sender == nullptr) return {};
    Batch batch(32, 1200, 300);
    batch.value.ecn = Ecn::kEct0;
    // The socket sends from its own address, whatever the batch names.
    batch.value.path.local = *parse_address(k_tap_local, 443);
    EXPECT_EQ(sender->send(to_tap_peer(batch)), SendOutcome::kSent);
    const auto packets = tap.read_packets();
    EXPECT_EQ(packets.size(), 32u);
    for (std::size_t i = 0; i < packets.size(); ++i) {
      const auto& packet = packets[i];
      EXPECT_EQ(packet[1], 2);            // ECT(0) (RFC 3168 §5)
      EXPECT_EQ(packet[6] & 0xe0, 0x40);  // don't fragment
      EXPECT_EQ(packet[8], 64);           // TTL
      const Address source{.ip = {packet[12], packet[13], packet[14], packet[15]},
                           .port = quic::load<std::uint16_t>(&packet[20]),
                           .family = Address::Family::kIpv4};
      EXPECT_EQ(source, sender->from());
      EXPECT_EQ(std::vector(packet.begin() + 28, packet.end()), batch.segment(i));
    }
    Batch large(1, 1473, 1473);  // one byte above the MTU
    EXPECT_EQ(sender->send(to_tap_peer(large)), SendOutcome::kDropped);
    EXPECT_TRUE(tap.read_packets().empty());
    return {};
  });
}

TEST(SendOnlySocket, LosesWhatIsBlocked) {
  in_thread([]() -> std::string {
    EthernetTap tap;
    if (auto missing = tap.set_up(); !missing.empty()) return missing;
    const auto sender = open_sender(*parse_address(k_tap_local, 4433));
    if (sender == nullptr) return {};
    set_option(sender->descriptor(), SOL_SOCKET, SO_SNDBUF, 16 * 1024);
    Batch batch(8, 1000, 1000);
    SendOutcome outcome = SendOutcome::kSent;
    for (int round = 0; round < 100 && outcome != SendOutcome::kBlocked; ++round) {
      outcome = sender->send(to_tap_peer(batch));
    }
    EXPECT_EQ(outcome, SendOutcome::kBlocked);
    tap.tell_hardware_address();
    tap.read_payloads();
    Batch next(3, 900, 900);
    EXPECT_EQ(sender->send(to_tap_peer(next)), SendOutcome::kSent);
    const auto payloads = tap.read_payloads();
    EXPECT_EQ(payloads.size(), 3u);
    for (std::size_t i = 0; i < payloads.size(); ++i) EXPECT_EQ(payloads[i], next.segment(i));
    return {};
  });
}

}  // namespace
}  // namespace sheaf::io
