// Tests a backend that sends from the gateway's address, over real sockets and a real channel. The
// test plays the gateway, and has the client's keys.
#include "switchboard/executor_host.h"

#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "crypto/key_peer.h"
#include "http3/encoded_head.h"
#include "switchboard/backbone_pair.h"
#include "switchboard/file_payload.h"
#include "switchboard/orders_host.h"
#include "switchboard/test_file.h"

namespace sheaf::switchboard {
namespace {

using quic::GrantEnd;
using quic::PacketNumber;

constexpr std::uint64_t k_host_process = 7;
constexpr std::uint32_t k_host_session = 3;
constexpr std::uint64_t k_head = 40;            // bytes of the stream that the gateway sends itself
constexpr std::size_t k_file_length = 1 << 20;  // of the file
constexpr std::uint16_t k_bytes = 1000;         // of the stream in each packet
constexpr quic::StreamId k_stream{4};

// A socket of the client, which counts who sent what.
class ClientSocket {
 public:
  ClientSocket() {
    descriptor_ = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t length = sizeof address;
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
    address_ = *io::parse_address("127.0.0.1", ntohs(address.sin_port));
  }
  ~ClientSocket() { close(descriptor_); }
  const quic::Address& address() const { return address_; }

  struct Packet {
    std::vector<std::uint8_t> bytes;
    std::uint16_t from_port = 0;
  };
  std::optional<Packet> receive() {
    Packet packet{.bytes = std::vector<std::uint8_t>(2048)};
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t size = recvfrom(descriptor_, packet.bytes.data(), packet.bytes.size(), 0,
                                  reinterpret_cast<sockaddr*>(&from), &length);
    if (size < 0) return std::nullopt;
    packet.bytes.resize(static_cast<std::size_t>(size));
    packet.from_port = ntohs(from.sin_port);
    return packet;
  }

 private:
  int descriptor_;
  quic::Address address_;
};

struct Heard final : quic::GrantListener {
  void on_progress(quic::RunOrders&, const quic::Progress& progress, quic::Time) override {
    last = progress;
  }
  void on_grant_ended(quic::RunOrders&, const quic::GrantEnded& ended, quic::Time) override {
    end = ended;
  }
  quic::Progress last;
  std::optional<quic::GrantEnded> end;
};

class ExecutorHostTest : public BackbonePair {
 protected:
  void SetUp() override {
    BackbonePair::SetUp();
    if (HasFatalFailure()) return;
    // The gateway receives at an address that the backend, on the same host, may send from.
    clients = std::make_unique<Node>(&uv, quic::EndpointConfig{}, 3, true);
    gateway = clients->loop().local_address();
    auto socket = io::SendOnlySocket::open(gateway, io::SendWay::kOwnAddress);
    ASSERT_TRUE(socket) << socket.error().message;
    sockets.add(std::move(*socket));
    auto opened =
        ExecutorHost::open(&uv, {called->loop(), answering->driver, answering->session, request_id},
                           {.session = k_host_session, .process = k_host_process, .sources = {}},
                           sockets, random, switchboard);
    ASSERT_TRUE(opened);
    executor = std::move(*opened);
    auto made = OrdersHost::open(
        &uv, {caller->loop(), asking->driver, asking->session, request_id},
        {.session = k_host_session, .process = 1, .backend_process = k_host_process}, switchboard);
    ASSERT_TRUE(made);
    orders = std::move(*made);
    called->on_turn = [this](Node::Peer&, quic::Time now) {
      if (executor) executor->on_events(now);
    };
    called->flushed = [this](quic::Time now) { switchboard.on_flushed(called->loop(), now); };
    caller->on_turn = [this](Node::Peer&, quic::Time now) {
      if (orders) orders->on_events(now);
    };
  }
  void TearDown() override {
    orders.reset();
    executor.reset();
    if (clients) clients->loop().close({});
    BackbonePair::TearDown();
    clients.reset();
  }

  quic::Grant grant(quic::Duration silence = std::chrono::seconds(60)) {
    quic::Grant made;
    made.connection = 1;
    made.id = orders->orders().open(heard);
    made.process = k_host_process;
    made.keys = *keys.server.keys.phase_for_sending({});
    made.addresses = {gateway, client.address()};
    made.client_id = quic::ConnectionId(std::vector<std::uint8_t>(8, 0xcc));
    made.stream = k_stream;
    made.first_offset = k_head;
    made.limit = k_head + k_file_length;
    made.silence = silence;
    return made;
  }
  std::unique_ptr<FilePayload> file_payload() {
    return std::make_unique<FilePayload>(k_head, files.open(file.descriptor()), 0, k_file_length);
  }
  quic::RunMessage run(quic::GrantId grant, PacketNumber first, std::uint64_t offset,
                       std::uint8_t packets) {
    return {.grant = grant,
            .first = first,
            .offset = offset,
            .bytes = k_bytes,
            .packets = packets,
            .lifetime = std::chrono::seconds(1)};
  }
  void say(const quic::RunMessage& message) {
    orders->orders().say(message);
    orders->flush(io::monotonic_now());
  }

  // Opens what the client has got, and checks that each packet holds the file's bytes.
  std::size_t take_packets() {
    std::size_t count = 0;
    while (const auto packet = client.receive()) {
      EXPECT_EQ(packet->from_port, gateway.port);
      std::vector<std::uint8_t> bytes = packet->bytes;
      const quic::OpenedPacket opened =
          keys.client.keys.open(bytes, quic::k_packet_number_offset, {}, largest, quic::k_start);
      EXPECT_EQ(opened.outcome, quic::OpenedPacket::Outcome::kOpened);
      if (opened.outcome != quic::OpenedPacket::Outcome::kOpened) continue;
      largest = opened.number;
      ++count;
      quic::Reader reader(opened.payload);
      EXPECT_EQ(reader.read_u8() & ~1, 0x0c);  // STREAM with an offset and no length
      EXPECT_EQ(reader.read_varint(), k_stream.value);
      const std::uint64_t offset = reader.read_varint();
      EXPECT_EQ(reader.remaining(), k_bytes);
      const quic::Bytes data = opened.payload.last(reader.remaining());
      for (std::size_t i = 0; i < data.size(); ++i) {
        if (data[i] != TestFile::byte_at(offset - k_head + i)) return ADD_FAILURE(), count;
      }
      received[opened.number] = offset;
    }
    return count;
  }
  bool run_until_received(std::size_t packets) {
    return run_until([&] {
      take_packets();
      return received.size() >= packets;
    });
  }

  quic::KeyPair keys{quic::KeyMode::kShared};
  quic::SeededRandom random{5};
  TestFile file{k_file_length};
  SharedFiles files{8};
  ClientSocket client;
  quic::Address gateway;
  std::unique_ptr<Node> clients;
  ReturnSockets sockets;
  Switchboard switchboard;
  std::unique_ptr<ExecutorHost> executor;
  std::unique_ptr<OrdersHost> orders;
  Heard heard;
  PacketNumber largest = quic::k_no_packet_number;
  std::map<PacketNumber, std::uint64_t> received;  // offsets by number
};

TEST_F(ExecutorHostTest, SendsAFileFromTheAddressOfTheGateway) {
  const quic::Grant given = grant();
  ASSERT_TRUE(executor->accept(given, file_payload(), {}));
  EXPECT_TRUE(run_until([&] { return heard.last.available == k_head + k_file_length; }));

  PacketNumber next = 0;
  std::uint64_t offset = k_head;
  while (offset + 32 * k_bytes <= k_head + k_file_length) {
    say(run(given.id, next, offset, 32));
    next += 32;
    offset += 32 * k_bytes;
    ASSERT_TRUE(run_until_received(next)) << received.size() << " of " << next;
  }
  for (const auto& [number, at] : received) EXPECT_EQ(at, k_head + number * k_bytes);
  EXPECT_TRUE(run_until([&] { return heard.last.executed_end == next; }));
  EXPECT_EQ(heard.last.refused, 0);
}

// The gateway, which knows by then how the response begins, hears of it first.
TEST_F(ExecutorHostTest, SendsAFirstPacketWhenItsLoopHasSent) {
  const std::vector<std::uint8_t> head(30);
  const std::uint64_t start = http3::framed_size(head.size(), k_file_length);
  quic::Grant given = grant();
  given.first_offset = 0;
  given.limit = start + k_file_length;
  given.first = {.number = 0, .bytes = k_bytes, .lifetime = std::chrono::minutes(1)};
  auto source =
      std::make_unique<FilePayload>(start, files.open(file.descriptor()), 0, k_file_length);
  ASSERT_TRUE(executor->accept(given, std::move(source), {head, k_file_length, {}}));
  switchboard.on_flushed(caller->loop(), io::monotonic_now());
  EXPECT_FALSE(client.receive()) << "another loop has sent";
  EXPECT_TRUE(run_until([&] { return client.receive().has_value(); }));
  EXPECT_TRUE(run_until([&] { return heard.last.executed_end == 1; }));
}

TEST_F(ExecutorHostTest, WaitsAsLongAsTheRunSays) {
  const quic::Grant given = grant();
  ASSERT_TRUE(executor->accept(given, file_payload(), {}));
  quic::RunMessage waits = run(given.id, 0, k_head, 4);
  waits.wait = std::chrono::milliseconds(30);
  const quic::Time before = io::monotonic_now();
  say(waits);
  EXPECT_TRUE(run_until_received(4));
  EXPECT_GE(io::monotonic_now() - before, std::chrono::milliseconds(29));
}

TEST_F(ExecutorHostTest, ReportsARunThatItRefuses) {
  const quic::Grant given = grant();
  ASSERT_TRUE(executor->accept(given, file_payload(), {}));
  say(run(given.id, 10, k_head + k_file_length, 4));  // beyond what was granted
  EXPECT_TRUE(run_until([&] { return heard.last.refused == 1; }));
  ASSERT_EQ(heard.last.newest_refused.size(), 1u);
  EXPECT_EQ(heard.last.newest_refused.view()[0], 10u);
  EXPECT_EQ(take_packets(), 0u);
  say(run(given.id, 14, k_head, 4));
  EXPECT_TRUE(run_until_received(4));
}

TEST_F(ExecutorHostTest, ForgetsTheKeysWhenTheGatewayIsSilent) {
  ASSERT_TRUE(executor->accept(grant(std::chrono::milliseconds(50)), file_payload(), {}));
  EXPECT_EQ(executor->executor().grants(), 1u);
  orders.reset();  // its connection stays open, and says nothing
  EXPECT_TRUE(run_until([&] { return executor->executor().grants() == 0; }));
  EXPECT_EQ(executor->executor().stats().expired, 1u);
}

// While the gateway has nothing to say, it pings.
TEST_F(ExecutorHostTest, KeepsAGrantWithoutRuns) {
  ASSERT_TRUE(executor->accept(grant(std::chrono::milliseconds(900)), file_payload(), {}));
  orders->flush(io::monotonic_now());
  const quic::Time end = io::monotonic_now() + std::chrono::milliseconds(1500);
  EXPECT_TRUE(run_until([&] { return io::monotonic_now() > end; }));
  EXPECT_EQ(executor->executor().stats().expired, 0u);
}

TEST_F(ExecutorHostTest, EndsAGrantThatTheGatewayRevokes) {
  const quic::Grant given = grant();
  ASSERT_TRUE(executor->accept(given, file_payload(), {}));
  say(run(given.id, 0, k_head, 4));
  EXPECT_TRUE(run_until_received(4));
  orders->orders().say(quic::GrantEnded{.end = GrantEnd::kRevoke, .grant = given.id});
  orders->flush(io::monotonic_now());
  EXPECT_TRUE(run_until([&] { return executor->executor().grants() == 0; }));
}

// Its bytes are never read again, so nobody waits for them.
TEST_F(ExecutorHostTest, EndsAResponseWhoseFileBecomesShorter) {
  const quic::Grant given = grant();
  ASSERT_TRUE(executor->accept(given, file_payload(), {}));
  say(run(given.id, 0, k_head, 4));
  EXPECT_TRUE(run_until_received(4));
  ASSERT_EQ(ftruncate(file.descriptor(), 10 * k_bytes), 0);
  say(run(given.id, 4, k_head + 8 * k_bytes, 4));
  EXPECT_TRUE(run_until([&] { return heard.end.has_value(); }));
  EXPECT_EQ(heard.end->end, GrantEnd::kReset);
  EXPECT_EQ(heard.end->code, 0x102u);  // H3_INTERNAL_ERROR
  EXPECT_EQ(take_packets(), 0u);
  EXPECT_EQ(executor->executor().grants(), 0u);
}

TEST_F(ExecutorHostTest, RefusesAGrantForAnAddressThatItMustNotSendFrom) {
  quic::Grant given = grant();
  given.addresses.local.port ^= 1;
  const auto status = executor->accept(given, file_payload(), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error(), quic::GrantRefusal::kForeignSource);
}

}  // namespace
}  // namespace sheaf::switchboard
