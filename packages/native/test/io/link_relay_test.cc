#include "io/link_relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "emulation/units.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::io {
namespace {

using namespace quic;

constexpr std::uint64_t k_seed = 31;
// Only a relay that hangs takes so long.
constexpr Duration k_patience = std::chrono::seconds(30);

struct Received {
  std::uint32_t number;
  Address from;
  Ecn ecn;
};

// A socket whose datagrams carry numbers.
class Peer {
 public:
  Peer() : socket(std::move(*UdpSocket::open(*parse_address("127.0.0.1", 0), {}))) {}

  void send(const Address& to, std::uint32_t number, std::size_t size = 100,
            Ecn ecn = Ecn::kNotEct) {
    std::vector<std::uint8_t> bytes(size);
    std::memcpy(bytes.data(), &number, sizeof number);
    TransmitBatch batch{.buffer = bytes, .path = {socket->local_address(), to}};
    batch.size = batch.segment_size = size;
    batch.ecn = ecn;
    ASSERT_EQ(socket->send(batch), SendOutcome::kSent);
  }
  void receive() {
    const auto take = [this](const Datagram& datagram) {
      std::uint32_t number;
      std::memcpy(&number, datagram.payload.data(), sizeof number);
      received.push_back({number, datagram.path.remote, datagram.ecn});
    };
    while (socket->receive(take) > 0) {
    }
  }

  std::unique_ptr<UdpSocket> socket;
  std::vector<Received> received;
};

class LinkRelayTest : public ::testing::Test {
 protected:
  LinkRelayTest() { uv_loop_init(&loop_); }
  ~LinkRelayTest() override {
    bool done = false;
    relay_->close([&] { done = true; });
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_TRUE(done);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }

  void start(const LinkConfig& both, std::size_t max_clients = 64,
             Duration idle_timeout = std::chrono::minutes(2)) {
    relay_ = std::make_unique<LinkRelay>(&loop_,
                                         LinkRelayConfig{.listen = *parse_address("127.0.0.1", 0),
                                                         .target = target_.socket->local_address(),
                                                         .there = both,
                                                         .back = both,
                                                         .seed = k_seed,
                                                         .max_clients = max_clients,
                                                         .idle_timeout = idle_timeout});
    ASSERT_TRUE(relay_->bind());
  }
  template <typename Condition>
  bool run_until(Condition reached) {
    const Time end = monotonic_now() + k_patience;
    while (!reached()) {
      if (monotonic_now() > end) return false;
      uv_run(&loop_, UV_RUN_NOWAIT);
      client_.receive();
      target_.receive();
    }
    return true;
  }
  // Sends a datagram and waits until the relay has received it.
  void pass(std::uint32_t number, std::size_t size = 100) {
    const std::uint64_t before = relay_->stats().there.sent;
    client_.send(relay_->local_address(), number, size);
    ASSERT_TRUE(run_until([&] { return relay_->stats().there.sent > before; }));
  }
  bool is_empty() const {
    const LinkStats& stats = relay_->stats().there;
    return stats.sent + stats.duplicated ==
           stats.queue_full + stats.down + stats.lost + stats.delivered + stats.too_large;
  }

  uv_loop_t loop_;
  Peer client_;
  Peer target_;
  std::unique_ptr<LinkRelay> relay_;
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_seed)};
};

TEST_F(LinkRelayTest, CarriesDatagramsBothWaysWithTheirMarks) {
  start({.delay = 1ms});
  client_.send(relay_->local_address(), 1, 1200, Ecn::kEct0);
  client_.send(relay_->local_address(), 2, 1200, Ecn::kCe);
  ASSERT_TRUE(run_until([&] { return target_.received.size() == 2; }));
  EXPECT_EQ(target_.received[0].number, 1u);
  EXPECT_EQ(target_.received[0].ecn, Ecn::kEct0);
  EXPECT_EQ(target_.received[1].ecn, Ecn::kCe);
  EXPECT_NE(target_.received[0].from, client_.socket->local_address());
  target_.send(target_.received[0].from, 3, 1200, Ecn::kEct1);
  ASSERT_TRUE(run_until([&] { return client_.received.size() == 1; }));
  EXPECT_EQ(client_.received[0].from, relay_->local_address());
  EXPECT_EQ(client_.received[0].ecn, Ecn::kEct1);
}

TEST_F(LinkRelayTest, EveryClientHasItsOwnPort) {
  start({});
  Peer other;
  client_.send(relay_->local_address(), 1);
  other.send(relay_->local_address(), 2);
  ASSERT_TRUE(run_until([&] { return target_.received.size() == 2; }));
  const Address first = target_.received[0].from, second = target_.received[1].from;
  EXPECT_NE(first, second);
  EXPECT_EQ(relay_->stats().clients, 2u);
  target_.send(target_.received[0].number == 2 ? first : second, 22);
  ASSERT_TRUE(run_until([&] {
    other.receive();
    return other.received.size() == 1;
  }));
  EXPECT_EQ(other.received[0].number, 22u);
  EXPECT_TRUE(client_.received.empty());
}

TEST_F(LinkRelayTest, OnlyTheTargetAnswers) {
  start({});
  pass(1);
  ASSERT_TRUE(run_until([&] { return target_.received.size() == 1; }));
  Address port = target_.received[0].from;
  Peer stranger;
  stranger.send(port, 66);
  target_.send(port, 2);
  ASSERT_TRUE(run_until([&] { return !client_.received.empty(); }));
  EXPECT_EQ(client_.received[0].number, 2u);
  EXPECT_EQ(relay_->stats().back.sent, 1u);
}

// The relay loses the same datagrams as the simulation with the same seed.
TEST_F(LinkRelayTest, LosesWhatTheLinkLoses) {
  constexpr std::uint32_t k_count = 2000;
  const LinkConfig config{.loss = 0.25, .burst_loss = GilbertElliott::bursts(0.1, 5)};
  start(config);
  Link virtual_link(config, k_seed);
  std::vector<std::uint32_t> expected, actual;
  for (std::uint32_t i = 0; i < k_count; ++i) {
    pass(i);
    virtual_link.send(std::vector<std::uint8_t>(100), {.path = {}}, Time{});
    if (virtual_link.poll_arrival(Time{})) expected.push_back(i);
  }
  ASSERT_TRUE(run_until([&] { return target_.received.size() >= expected.size(); }));
  for (const Received& one : target_.received) actual.push_back(one.number);
  EXPECT_EQ(actual, expected);
  EXPECT_NEAR(static_cast<double>(relay_->stats().there.lost) / k_count, 1 - 0.75 * 0.9, 0.05);
}

TEST_F(LinkRelayTest, KeepsItsRateAndTheOrder) {
  constexpr std::uint32_t k_count = 300;
  start({.queue_bytes = 1 << 20, .rate = 10_mbps});  // 1250 bytes take 1 ms
  const Time begin = monotonic_now();
  for (std::uint32_t i = 0; i < k_count; ++i) pass(i, 1250);
  ASSERT_TRUE(run_until([&] { return target_.received.size() == k_count; }));
  const double seconds = std::chrono::duration<double>(monotonic_now() - begin).count();
  std::printf("rate: %.2f of 10 Mbit/s\n", k_count * 1250 * 8 / seconds / 1e6);
  EXPECT_GE(seconds, k_count / 1000.0);
  for (std::uint32_t i = 0; i < k_count; ++i) EXPECT_EQ(target_.received[i].number, i);
}

TEST_F(LinkRelayTest, DropsWhatDoesNotFitTheQueue) {
  start({.queue_packets = 5, .rate = 100});  // 1 s each
  for (std::uint32_t i = 0; i < 20; ++i) pass(i);
  EXPECT_EQ(relay_->stats().there.queue_full, 14u);
}

TEST_F(LinkRelayTest, GoesDownAndComesBack) {
  start({});
  pass(1);
  relay_->set_down(true);
  pass(2);
  pass(3);
  EXPECT_EQ(relay_->stats().there.down, 2u);
  relay_->set_down(false);
  pass(4);
  ASSERT_TRUE(run_until([&] { return target_.received.size() == 2; }));
  EXPECT_EQ(target_.received[0].number, 1u);
  EXPECT_EQ(target_.received[1].number, 4u);
}

TEST_F(LinkRelayTest, TakesAnotherConfigurationAtRunTime) {
  start({.loss = 1});
  pass(1);
  ASSERT_TRUE(run_until([&] { return is_empty(); }));
  relay_->set_config({}, {});
  pass(2);
  ASSERT_TRUE(run_until([&] { return target_.received.size() == 1; }));
  EXPECT_EQ(target_.received[0].number, 2u);
}

TEST_F(LinkRelayTest, TakesNoMoreClientsThanAllowed) {
  start({}, 2);
  Peer second, third;
  pass(1);
  second.send(relay_->local_address(), 2);
  third.send(relay_->local_address(), 3);
  ASSERT_TRUE(run_until([&] { return relay_->stats().refused == 1; }));
  pass(4);
  ASSERT_TRUE(run_until([&] { return target_.received.size() == 3; }));
  EXPECT_EQ(relay_->stats().clients, 2u);
}

TEST_F(LinkRelayTest, AnIdleClientMakesRoom) {
  start({}, 1, 1ms);
  Peer second;
  pass(1);
  ASSERT_TRUE(run_until([&] {
    second.send(relay_->local_address(), 2);
    return target_.received.size() >= 2;
  }));
  EXPECT_EQ(relay_->stats().clients, 1u);
}

TEST_F(LinkRelayTest, BoundsWhatALongDelayHolds) {
  start({.delay = 1h});
  constexpr std::uint64_t k_size = 60'000;
  for (std::uint32_t i = 0; relay_->stats().overflow == 0 && i < 2000; ++i) {
    const LinkRelayStats before = relay_->stats();
    client_.send(relay_->local_address(), i, k_size);
    ASSERT_TRUE(run_until([&] {
      return relay_->stats().there.sent + relay_->stats().overflow >
             before.there.sent + before.overflow;
    }));
  }
  EXPECT_EQ(relay_->stats().overflow, 1u);
  EXPECT_NEAR(static_cast<double>(relay_->stats().there.sent * k_size), 64 << 20, 1 << 20);
}

TEST_F(LinkRelayTest, SurvivesATargetThatIsNotThere) {
  start({});
  target_.socket.reset();
  for (std::uint32_t i = 0; i < 10; ++i) {
    client_.send(relay_->local_address(), i);
    const Time end = monotonic_now() + k_patience;
    while (relay_->stats().there.sent == i && monotonic_now() < end) {
      uv_run(&loop_, UV_RUN_NOWAIT);
    }
  }
  EXPECT_EQ(relay_->stats().there.delivered, 10u);
}

TEST_F(LinkRelayTest, SaysWhyItCannotBind) {
  start({});
  LinkRelay second(&loop_, {.listen = relay_->local_address(),
                            .target = target_.socket->local_address(),
                            .there = {},
                            .back = {}});
  const auto status = second.bind();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("EADDRINUSE"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::io
