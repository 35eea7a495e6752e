#include "sim/page_load.h"

#include <gtest/gtest.h>

#include <optional>

#include "emulation/units.h"
#include "sim/addresses.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_page_seed = 7;
constexpr Duration k_page_delay = 10ms;

// A client and a server on one link, after their handshake.
struct Site {
  explicit Site(const LinkConfig& link, std::uint64_t seed = k_page_seed) : simulation(seed) {
    const AddressPair path{ipv4({10, 0, 0, 1}, 50'000), ipv4({10, 0, 0, 2}, 443)};
    simulation.connect({"client", path.local}, {"server", path.remote}, link);
    pair.emplace(simulation, ConnectionPair::Options{.client = {}, .server = {}, .path = path});
    pair->client.on_event = [this](const Event& event, Time) {
      confirmed |= std::holds_alternative<HandshakeConfirmedEvent>(event);
    };
    simulation.run_until([this] { return confirmed; }, 1s);
  }

  Simulation simulation;
  std::optional<ConnectionPair> pair;
  bool confirmed = false;
};

Page page_of(std::initializer_list<std::uint64_t> sizes) {
  Page page;
  for (const std::uint64_t bytes : sizes)
    page.resources.push_back({.bytes = bytes, .priority = {}});
  return page;
}

class PageLoadTest : public ::testing::Test {
 protected:
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_page_seed)};
};

TEST_F(PageLoadTest, BringsEveryByteOfEveryResource) {
  Site site({.rate = 50_mbps, .delay = k_page_delay});
  PageLoad load(*site.pair, page_of({0, 1, 300'000, 3'000'000}));
  ASSERT_EQ(site.simulation.run_until([&] { return load.finished(); }, 10s),
            Simulation::Outcome::kReached);
  EXPECT_TRUE(load.intact());
  ASSERT_EQ(load.timings().size(), 4u);
  for (const PageLoad::Timing& timing : load.timings()) {
    EXPECT_GE(timing.first_byte, 2 * k_page_delay);  // the request there, the response back
    EXPECT_GE(timing.completed, timing.first_byte);
    EXPECT_LE(timing.completed, load.page_load_time());
  }
  // 3.3 MB at 50 Mbit/s take 528 ms.
  EXPECT_GT(load.page_load_time(), 528ms);
  EXPECT_LT(load.page_load_time(), 1s);
  EXPECT_GT(load.byte_index(), 2 * k_page_delay);
  EXPECT_LT(load.byte_index(), load.page_load_time());
}

TEST_F(PageLoadTest, TheByteIndexIsTheMeanArrival) {
  Site site({.delay = k_page_delay});
  PageLoad load(*site.pair, page_of({10, 30}));
  ASSERT_EQ(site.simulation.run_until([&] { return load.finished(); }, 1s),
            Simulation::Outcome::kReached);
  const auto& timings = load.timings();
  EXPECT_EQ(load.byte_index(), (10 * timings[0].completed + 30 * timings[1].completed) / 40);
}

TEST_F(PageLoadTest, PagesFollowOneAnotherOnAConnection) {
  Site site({.rate = 50_mbps, .loss = 0.02, .delay = k_page_delay});
  PageLoad warm(*site.pair, page_of({2619, 2619}));
  site.simulation.run_until([&] { return warm.finished(); }, 10s);
  PageLoad load(*site.pair, page_of({100'000, 200'000, 0}));
  ASSERT_EQ(site.simulation.run_until([&] { return load.finished(); }, 10s),
            Simulation::Outcome::kReached);
  EXPECT_TRUE(warm.intact() && load.intact());
}

TEST_F(PageLoadTest, EqualSeedsGiveEqualBytes) {
  const auto digest = [](std::uint64_t seed) {
    Site site({.rate = 20_mbps, .loss = 0.03, .loss_correlation = 0.5, .delay = k_page_delay},
              seed);
    PageLoad load(*site.pair, page_of({40'000, 500'000}));
    site.simulation.run_until([&] { return load.finished(); }, 10s);
    EXPECT_TRUE(load.finished());
    return site.simulation.digest();
  };
  EXPECT_EQ(digest(3), digest(3));
  EXPECT_NE(digest(3), digest(4));
}

}  // namespace
}  // namespace sheaf::quic
