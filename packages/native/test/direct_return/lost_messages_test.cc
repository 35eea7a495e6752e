// Each message between the gateway and its backends is lost in one run of a transfer, and comes
// late in another. Nothing but time may be lost with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "sim/addresses.h"
#include "sim/direct_return/return_network.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_bytes = 60'000;  // of each response
constexpr Duration k_longest_stall = 1500ms;
constexpr std::uint64_t k_seed = 400;

// What happens meanwhile
enum class Incident { kNothing, kKeyUpdate, kRebinding, kCancelled };

// A site with two backends whose ways to the client differ by 2 ms. The client is 20 ms away, with
// 100 Mbit/s.
ReturnNetwork::Options two_backends() {
  ReturnNetwork::Options options;
  options.access = {.queue_bytes = 16 << 20, .rate = 12'500'000, .delay = 20ms};
  options.gateway_way = 100us;
  options.backends = {{.order = 100us, .way = 100us}, {.order = 1ms, .way = 2100us}};
  return options;
}

class Transfer {
 public:
  // `to_backend` and `nth` say which message is special. It takes so much longer, or is lost.
  Transfer(Incident event, bool to_backend, std::uint64_t nth, std::optional<Duration> longer)
      : network_(k_seed, two_backends()) {
    network_.fate = [this, to_backend, nth, longer](bool there, std::uint64_t message) {
      ++messages_[there ? 0 : 1];
      const bool special = there == to_backend && message == nth;
      return special ? longer : std::optional<Duration>(0ms);
    };
    const StreamId first = network_.request(0, k_bytes);
    other_ = network_.request(1, k_bytes);
    network_.simulation.after(70ms, [this, event, first] { happen(event, first); });
    cancelled_ = event == Incident::kCancelled;
  }

  // Returns how long the responses took that were not cancelled.
  Duration run() {
    const auto outcome = network_.simulation.run_until([this] { return finished(); }, 20s);
    EXPECT_EQ(outcome, Simulation::Outcome::kReached);
    EXPECT_TRUE(network_.all_intact());
    const Duration took = network_.simulation.now() - Time{};
    network_.simulation.run_for(1s);
    for (const BackendExecutorHost& backend : network_.backends) {
      EXPECT_EQ(backend.executor.grants(), 0u);
    }
    EXPECT_EQ(network_.gateway.delegated.streams(), 0u);
    return took;
  }
  // Messages of one direction so far
  std::uint64_t messages(bool to_backend) const { return messages_[to_backend ? 0 : 1]; }

 private:
  bool finished() const {
    return cancelled_ ? network_.response(other_).finished : network_.all_finished();
  }
  void happen(Incident event, StreamId first) {
    Connection& client = network_.pair.client.connection;
    if (event == Incident::kKeyUpdate) {
      EXPECT_TRUE(
          client.extension().keys().initiate_update(PathId{0}, network_.simulation.now(), 100ms));
    } else if (event == Incident::kRebinding) {
      network_.simulation.rebind(network_.access, ipv4({192, 0, 2, 9}, 61000));
    } else if (event == Incident::kCancelled) {
      EXPECT_TRUE(client.streams().reader().stop_sending(first, 7));
    }
    // A client that only receives would not show its new keys or address.
    client.extension().paths().find(PathId{0})->path->ping_due = true;
  }

  ReturnNetwork network_;
  StreamId other_;
  bool cancelled_ = false;
  std::array<std::uint64_t, 2> messages_{};
};

void lose_each_message(Incident event, std::optional<Duration> longer) {
  Transfer calm(event, true, UINT64_MAX, longer);
  const Duration usual = calm.run();
  Duration longest{};
  for (const bool to_backend : {true, false}) {
    for (std::uint64_t nth = 0; nth < calm.messages(to_backend); ++nth) {
      SCOPED_TRACE((to_backend ? "message to a backend " : "message to the gateway ") +
                   std::to_string(nth));
      const Duration took = Transfer(event, to_backend, nth, longer).run();
      EXPECT_LE(took, usual + k_longest_stall);
      longest = std::max(longest, took - usual);
    }
  }
  std::cout << "seed " << k_seed << ": " << calm.messages(true) << " messages to backends, "
            << calm.messages(false) << " to the gateway; each costs at most "
            << to_seconds(longest) * 1e3 << " ms\n";
}

TEST(LostMessages, CostTimeAlone) { lose_each_message(Incident::kNothing, std::nullopt); }
TEST(LostMessages, CostTimeAloneWhenKeysChange) {
  lose_each_message(Incident::kKeyUpdate, std::nullopt);
}
TEST(LostMessages, CostTimeAloneWhenTheClientMoves) {
  lose_each_message(Incident::kRebinding, std::nullopt);
}
TEST(LostMessages, CostTimeAloneWhenARequestIsCancelled) {
  lose_each_message(Incident::kCancelled, std::nullopt);
}

TEST(LateMessages, CostTimeAlone) { lose_each_message(Incident::kNothing, 30ms); }
TEST(LateMessages, CostTimeAloneWhenKeysChange) { lose_each_message(Incident::kKeyUpdate, 30ms); }
TEST(LateMessages, CostTimeAloneWhenTheClientMoves) {
  lose_each_message(Incident::kRebinding, 30ms);
}
TEST(LateMessages, CostTimeAloneWhenARequestIsCancelled) {
  lose_each_message(Incident::kCancelled, 30ms);
}

// The network of the client loses nothing. So there is no response to a loss, which would take 30 %
// of the congestion window, whichever messages are lost, come late, or are overtaken. A detour that
// becomes shorter takes a few percent.
TEST(LostMessages, CostNoCongestionWindow) {
  std::uint64_t lost_in_all = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ReturnNetwork network(seed, two_backends());
    SeededRandom random(seed);
    std::uint64_t lost = 0;
    network.fate = [&](bool, std::uint64_t) -> std::optional<Duration> {
      const std::uint64_t fate = random.below(100);
      if (fate < 5) return ++lost, std::nullopt;
      return fate < 10 ? 1us * static_cast<int>(random.below(5'000)) : 0us;
    };
    for (std::size_t i = 0; i < 4; ++i) network.request(i % 2, 500'000);
    const Path& path = *network.pair.server.connection.extension().paths().find(PathId{0})->path;
    std::uint64_t window = 0;
    const auto finished = [&] {
      EXPECT_GE(path.controller->window(), window * 9 / 10);
      window = path.controller->window();
      return network.all_finished();
    };
    EXPECT_EQ(network.simulation.run_until(finished, 20s), Simulation::Outcome::kReached);
    EXPECT_TRUE(network.all_intact());
    EXPECT_GT(lost, 0u);
    lost_in_all += lost;
  }
  std::cout << lost_in_all << " messages were lost\n";
}

}  // namespace
}  // namespace sheaf::quic
