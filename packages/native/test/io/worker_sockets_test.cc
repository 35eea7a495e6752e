#include "io/worker_sockets.h"

#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "io/send_only_socket.h"
#include "io/socket_address.h"
#include "io/steering_program.h"

namespace sheaf::io {
namespace {

using quic::Address;
using quic::ConnectionId;
using quic::Steering;

constexpr unsigned k_socket_workers = 4;

struct SocketsOfWorkers {
  explicit SocketsOfWorkers(std::size_t id_length, bool steer = true,
                            const char* address = "127.0.0.1") {
    const Steering steering(k_socket_workers, id_length, Steering::random_key(random));
    sockets = std::move(*WorkerSockets::open({*parse_address(address, 0)}, steering, steer));
    for (unsigned worker = 0; worker < k_socket_workers; ++worker)
      own.push_back(std::move(*sockets->take(worker, 0, {})));
  }
  // Returns the worker whose socket got a datagram, of which there must be one.
  std::optional<unsigned> receiver() {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      for (unsigned worker = 0; worker < k_socket_workers; ++worker) {
        if (own[worker]->receive([](const quic::Datagram&) {}) > 0) return worker;
      }
    }
    return std::nullopt;
  }

  quic::SeededRandom random{1};
  std::shared_ptr<WorkerSockets> sockets;
  std::vector<std::unique_ptr<UdpSocket>> own;
};

struct WorkerSender {
  explicit WorkerSender(const Address& to, const char* from = "127.0.0.1")
      : socket(std::move(*UdpSocket::open(*parse_address(from, 0), {}))), target(to) {}
  void send(std::vector<std::uint8_t> bytes, std::size_t segment = 0) const {
    quic::TransmitBatch batch;
    batch.buffer = bytes;
    batch.size = bytes.size();
    batch.segment_size = segment == 0 ? bytes.size() : segment;
    batch.path = {socket->local_address(), target};
    ASSERT_EQ(socket->send(batch), SendOutcome::kSent);
  }
  std::unique_ptr<UdpSocket> socket;
  Address target;
};

std::vector<std::uint8_t> short_packet(const ConnectionId& id) {
  std::vector<std::uint8_t> bytes(60, 0x40);
  std::ranges::copy(id.view(), bytes.begin() + 1);
  return bytes;
}

std::vector<std::uint8_t> long_packet(const ConnectionId& id) {
  std::vector<std::uint8_t> bytes(1200, 0xc0);
  bytes[5] = id.length;
  std::ranges::copy(id.view(), bytes.begin() + 6);
  return bytes;
}

TEST(WorkerSockets, TheKernelFollowsMarkedIds) {
  for (const std::size_t length : {8u, 11u, 20u}) {
    SocketsOfWorkers group(length);
    ASSERT_TRUE(group.sockets->group()->steered());
    const Steering& steering = group.sockets->group()->steering();
    for (unsigned i = 0; i < 200; ++i) {
      // Each from an address of its own
      const WorkerSender sender(group.sockets->addresses().front());
      ConnectionId id;
      id.length = static_cast<std::uint8_t>(length);
      group.random.fill({id.bytes.data(), id.length});
      steering.mark(id, i % k_socket_workers, group.random);
      sender.send(i % 3 == 0 ? long_packet(id) : short_packet(id));
      ASSERT_EQ(group.receiver(), i % k_socket_workers);
    }
  }
}

TEST(WorkerSockets, TheKernelFollowsIdsOfClientsAsTheEndpointsDo) {
  SocketsOfWorkers group(8);
  const WorkerSender sender(group.sockets->addresses().front());
  for (int i = 0; i < 200; ++i) {
    ConnectionId id;
    id.length = static_cast<std::uint8_t>(8 + group.random.below(13));
    group.random.fill({id.bytes.data(), id.length});
    sender.send(long_packet(id));
    ASSERT_EQ(group.receiver(), group.sockets->group()->steering().worker_of(id.view()));
  }
}

TEST(WorkerSockets, ShortDatagramsAndShortIdsGoByAddresses) {
  SocketsOfWorkers group(8);
  std::vector<bool> used(k_socket_workers);
  for (int i = 0; i < 100; ++i) {
    const WorkerSender sender(group.sockets->addresses().front());
    ConnectionId id;
    id.length = 7;
    sender.send(i % 2 == 0 ? std::vector<std::uint8_t>(13, 0x40) : long_packet(id));
    const auto first = group.receiver();
    ASSERT_TRUE(first);
    used[*first] = true;
  }
  EXPECT_EQ(std::ranges::count(used, true), k_socket_workers);
}

TEST(WorkerSockets, WithoutSteeringAddressesDecide) {
  SocketsOfWorkers group(8, false);
  EXPECT_FALSE(group.sockets->group()->steered());
  const WorkerSender sender(group.sockets->addresses().front());
  std::optional<unsigned> only;
  for (unsigned i = 0; i < 20; ++i) {
    ConnectionId id;
    id.length = 8;
    group.sockets->group()->steering().mark(id, i % k_socket_workers, group.random);
    sender.send(short_packet(id));
    const auto receiver = group.receiver();
    ASSERT_TRUE(receiver);
    EXPECT_EQ(only.value_or(*receiver), *receiver);
    only = receiver;
  }
}

TEST(WorkerSockets, ASuccessorGetsWhatWaits) {
  SocketsOfWorkers group(8);
  const WorkerSender sender(group.sockets->addresses().front());
  ConnectionId id;
  id.length = 8;
  group.sockets->group()->steering().mark(id, 1, group.random);
  group.own[1].reset();
  sender.send(short_packet(id));
  group.own[1] = std::move(*group.sockets->take(1, 0, {}));
  EXPECT_EQ(group.receiver(), 1u);
}

TEST(WorkerSockets, RefuseAnAddressThatOthersUse) {
  SocketsOfWorkers group(8);
  const Address& taken = group.sockets->addresses().front();
  const Steering steering(2, 8, {});
  const auto refused = WorkerSockets::open({taken}, steering, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().number, EADDRINUSE);
}

TEST(WorkerSockets, JoinASocketThatSendsAlone) {
  const auto free = UdpSocket::open(*parse_address("127.0.0.1", 0), {});
  ASSERT_TRUE(free);
  const Address taken = (*free)->local_address();
  (*free)->share_address();
  const auto sends = SendOnlySocket::open(taken, SendWay::kOwnAddress);
  ASSERT_TRUE(sends);
  const Steering steering(1, 8, {});
  EXPECT_FALSE(WorkerSockets::open({taken}, steering, true));
  EXPECT_TRUE(WorkerSockets::open({taken}, steering, true, true));
}

TEST(WorkerSockets, ServeSeveralAddressesAtOnePort) {
  quic::SeededRandom random(3);
  const Steering steering(2, 8, Steering::random_key(random));
  const auto opened = WorkerSockets::open(
      {*parse_address("127.0.0.1", 0), *parse_address("::1", 0)}, steering, true);
  ASSERT_TRUE(opened);
  const auto& addresses = (*opened)->addresses();
  ASSERT_EQ(addresses.size(), 2u);
  EXPECT_EQ(addresses[0].port, addresses[1].port);
  EXPECT_TRUE((*opened)->group()->steered());
}

}  // namespace
}  // namespace sheaf::io
