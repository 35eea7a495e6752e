// Tests responses that a backend sends to a real client, over real sockets and timers.
#include "switchboard/delegations.h"

#include "http3/encoded_head.h"
#include "switchboard/backbone_pair.h"
#include "switchboard/executor_host.h"
#include "switchboard/file_payload.h"
#include "switchboard/orders_host.h"
#include "switchboard/test_file.h"

namespace sheaf::switchboard {
namespace {

using Orphan = quic::DelegatedStreams::Orphan;

constexpr std::uint64_t k_process = 7;
constexpr std::uint32_t k_session = 3;
constexpr std::size_t k_length = 1 << 20;

class DelegationsTest : public BackbonePair {
 protected:
  void SetUp() override {
    BackbonePair::SetUp();
    if (HasFatalFailure()) return;
    quic::EndpointConfig config;
    client = std::make_unique<Node>(&uv, config, 4);
    config.server_tls = server_tls();
    gateway = std::make_unique<Node>(&uv, config, 3, true);
    auto opened = Delegations::open(&uv, gateway->loop(), switchboard);
    ASSERT_TRUE(opened);
    delegations = std::move(*opened);
    gateway->on_turn = [this](Node::Peer& peer, quic::Time) {
      delegations->on_active(peer.driver);
      auto* streams = delegations->find(peer.driver);
      if (!streams) return;
      while (const auto orphan = streams->poll_orphan()) orphans.push_back(*orphan);
    };
    gateway->flushed = [this](quic::Time now) { delegations->on_flushed(now); };
    gateway->on_event = [this](Node::Peer& peer, http3::SessionEvent& event) {
      if (const auto* request = std::get_if<http3::RequestReceived>(&event)) serve(peer, *request);
    };
    client->on_event = [this](Node::Peer& peer, http3::SessionEvent& event) {
      settled |= std::holds_alternative<http3::SettingsReceived>(event);
      if (const auto* readable = std::get_if<http3::BodyReadable>(&event)) {
        if (reads) read(peer, readable->stream);
      }
    };
    called->on_turn = [this](Node::Peer&, quic::Time now) {
      if (executor) executor->on_events(now);
    };
    caller->on_turn = [this](Node::Peer&, quic::Time now) {
      if (orders) orders->on_events(now);
    };
    open_session();
    browser = &client->call(gateway->loop().local_address(), {});
    ASSERT_TRUE(run_until([this] { return settled; }));
  }

  void TearDown() override {
    orders.reset();
    executor.reset();
    delegations.reset();
    for (Node* node : {client.get(), gateway.get()}) {
      if (node) node->loop().close({});
    }
    BackbonePair::TearDown();
    client.reset();
    gateway.reset();
  }

  void open_session() {
    auto socket =
        io::SendOnlySocket::open(gateway->loop().local_address(), io::SendWay::kOwnAddress);
    ASSERT_TRUE(socket) << socket.error().message;
    ReturnSockets sockets;
    sockets.add(std::move(*socket));
    auto opened = ExecutorHost::open(
        &uv, {called->loop(), answering->driver, answering->session, request_id},
        {.session = k_session, .process = k_process, .sources = {}}, sockets, random, switchboard);
    ASSERT_TRUE(opened);
    executor = std::move(*opened);
    auto made = OrdersHost::open(&uv, {caller->loop(), asking->driver, asking->session, request_id},
                                 {.session = k_session, .process = 1, .backend_process = k_process},
                                 switchboard);
    ASSERT_TRUE(made);
    orders = std::move(*made);
  }

  // Offers the response to the backend, which accepts at once.
  void serve(Node::Peer& peer, const http3::RequestReceived& request) {
    accepted = &peer;
    const auto grant =
        delegations->of(peer.driver).offer(request.stream, orders->orders(), io::monotonic_now());
    ASSERT_TRUE(grant);
    const auto head = *http3::encode_head({{":status", "200"}});
    const std::uint64_t start = http3::framed_size(head.size(), k_length);
    ASSERT_TRUE(executor->accept(
        *grant, std::make_unique<FilePayload>(start, files.open(file.descriptor()), 0, k_length),
        {.head = head, .length = k_length}));
    auto& streams = delegations->of(peer.driver);
    const std::uint64_t begun = streams.first_bytes(request.stream);
    ASSERT_TRUE(peer.session.hand_off(request.stream, head, k_length, begun));
    ASSERT_TRUE(streams.accept(request.stream, start + k_length, io::monotonic_now()));
  }

  void ask() {
    ASSERT_TRUE(browser->session.submit_request(
        {{":method", "GET"}, {":scheme", "https"}, {":authority", "test"}, {":path", "/"}}, false));
    client->loop().wake(browser->driver);
  }

  void read(Node::Peer& peer, http3::StreamId stream) {
    std::vector<std::uint8_t> out(65536);
    for (;;) {
      const std::size_t size = peer.session.read_body(stream, out, io::monotonic_now());
      if (size == 0) return;
      for (std::size_t i = 0; i < size; ++i) {
        if (out[i] != TestFile::byte_at(received % k_length + i)) intact = false;
      }
      received += size;
      client->loop().wake(peer.driver);
    }
  }

  bool run_until_after(quic::Duration time) {
    const quic::Time end = io::monotonic_now() + time;
    return run_until([&] { return io::monotonic_now() > end; });
  }

  quic::SeededRandom random{5};
  TestFile file{k_length};
  SharedFiles files;
  Switchboard switchboard;
  std::unique_ptr<Node> client;
  std::unique_ptr<Node> gateway;
  std::unique_ptr<Delegations> delegations;
  std::unique_ptr<ExecutorHost> executor;
  std::unique_ptr<OrdersHost> orders;
  Node::Peer* browser = nullptr;   // the client's side of its connection
  Node::Peer* accepted = nullptr;  // the gateway's
  bool settled = false;
  bool reads = true;
  bool intact = true;
  std::uint64_t received = 0;
  std::vector<Orphan> orphans;
};

TEST_F(DelegationsTest, BringsAResponseAndForgetsTheConnectionWhenItIsIdle) {
  for (std::uint64_t responses = 1; responses <= 2; ++responses) {
    ask();
    EXPECT_TRUE(run_until([&] { return received == responses * k_length; })) << received;
    EXPECT_TRUE(intact);
    EXPECT_EQ(delegations->size(), 1u);
    EXPECT_TRUE(run_until([this] { return executor->executor().grants() == 0; }));
    EXPECT_TRUE(run_until([this] { return delegations->size() == 0; }));
  }
  EXPECT_GE(executor->executor().stats().bytes, 2 * k_length);
  EXPECT_TRUE(orphans.empty());
}

// Flow control stops the response, so that nothing is in flight. The backend pings for a while.
TEST_F(DelegationsTest, NoticesASilentBackendWithoutAWordOfTheClient) {
  reads = false;
  ask();
  EXPECT_TRUE(run_until([this] { return executor->executor().stats().bytes > 200'000; }));
  EXPECT_TRUE(run_until_after(std::chrono::milliseconds(1500)));
  EXPECT_TRUE(orphans.empty());
  executor.reset();
  EXPECT_TRUE(run_until([this] { return !orphans.empty(); }));
  ASSERT_EQ(orphans.size(), 1u);
  EXPECT_EQ(orphans[0].reason, Orphan::Reason::kSilent);
}

TEST_F(DelegationsTest, TellsAConnectionAtOnceWhenASessionEnds) {
  reads = false;
  ask();
  EXPECT_TRUE(run_until([this] { return executor->executor().stats().bytes > 200'000; }));
  EXPECT_TRUE(run_until_after(std::chrono::milliseconds(300)));
  orders.reset();
  EXPECT_TRUE(run_until([this] { return !orphans.empty(); }));
  ASSERT_EQ(orphans.size(), 1u);
  EXPECT_EQ(orphans[0].reason, Orphan::Reason::kGone);
  EXPECT_TRUE(run_until([this] { return delegations->size() == 0; }));
}

TEST_F(DelegationsTest, TakesGrantsBackWhenTheConnectionIsForgotten) {
  reads = false;
  ask();
  EXPECT_TRUE(run_until([this] { return executor->executor().grants() == 1; }));
  delegations->forget(accepted->driver);
  EXPECT_EQ(delegations->size(), 0u);
  EXPECT_TRUE(run_until([this] { return executor->executor().grants() == 0; }));
  EXPECT_EQ(executor->executor().stats().expired, 0u);
}

}  // namespace
}  // namespace sheaf::switchboard
