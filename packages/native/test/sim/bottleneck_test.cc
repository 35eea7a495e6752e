#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "congestion/bbr/bbr.h"
#include "congestion/olia.h"
#include "emulation/units.h"
#include "sim/bulk_host.h"
#include "sim/host_address.h"
#include "sim/simulation.h"

namespace sheaf::quic {
namespace {

// Tests controllers on a bottleneck of 20 Mbit/s and 40 ms, with a buffer as large as the path.
constexpr std::uint64_t k_rate = 20_mbps;
constexpr Duration k_delay = 20ms;
constexpr std::uint64_t k_path_bytes = k_rate / 25;  // 40 ms of it
constexpr std::uint64_t k_endless = 1 << 30;

LinkConfig link() { return {.queue_bytes = k_path_bytes, .rate = k_rate, .delay = k_delay}; }

class Bottleneck {
 public:
  Bottleneck(std::uint64_t seed, CongestionAlgorithm algorithm, const LinkConfig& there,
             std::uint64_t chunks = k_endless)
      : sender_({address(1), address(2)}, {.algorithm = algorithm}, chunks), simulation_(seed) {
    simulation_.add_host("sender", sender_);
    simulation_.add_host("receiver", receiver_);
    path_ = &simulation_.connect({"sender", address(1)}, {"receiver", address(2)}, there,
                                 {.delay = k_delay});
  }

  // Returns the share of the rate that arrived in that time.
  double run(Duration duration, std::uint64_t rate = k_rate) {
    const std::uint64_t before = path_->there.stats().bytes_delivered;
    queue_.clear();
    for (Duration passed{}; passed < duration; passed += 1ms) {
      simulation_.run_for(1ms);
      queue_.push_back(path_->there.waiting_bytes());
      if (const auto* bbr = dynamic_cast<const Bbr*>(sender_.path().controller.get())) {
        seen_.insert(bbr->state());
      }
    }
    EXPECT_FALSE(sender_.violated());
    const double seconds = std::chrono::duration<double>(duration).count();
    return static_cast<double>(path_->there.stats().bytes_delivered - before) / seconds /
           static_cast<double>(rate);
  }
  // Returns the queue of the last run as a share of the bytes that the path holds without a queue.
  double queue(double quantile) {
    std::sort(queue_.begin(), queue_.end());
    return static_cast<double>(queue_[static_cast<std::size_t>(
               quantile * static_cast<double>(queue_.size() - 1))]) /
           k_path_bytes;
  }
  void offer_steadily(std::uint64_t rate, Duration until) {
    const Duration interval = Duration(1s) * BulkSender::k_size / rate;
    for (Duration when{}; when < until; when += interval) {
      simulation_.after(when, [this] { sender_.offer(1); });
    }
  }
  void change(const LinkConfig& config) { path_->there.change(config, simulation_.now()); }
  const Bbr& bbr() const { return static_cast<const Bbr&>(*sender_.path().controller); }
  BulkSender& sender() { return sender_; }
  const std::set<Bbr::State>& seen() const { return seen_; }

 private:
  BulkSender sender_;
  BulkReceiver receiver_;
  Simulation simulation_;
  NetworkPath* path_;
  std::vector<std::uint64_t> queue_;
  std::set<Bbr::State> seen_;
};

class BottleneckTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t k_seed = 10069;
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_seed)};
};

struct LossCase {
  double loss;
  double goodput;  // expected share of the link; what is lost cannot be good
};

class BbrLossTest : public ::testing::TestWithParam<LossCase> {};

INSTANTIATE_TEST_SUITE_P(Loss, BbrLossTest,
                         ::testing::Values(LossCase{0, 0.95}, LossCase{0.01, 0.92},
                                           LossCase{0.03, 0.87}),
                         [](const auto& parameter) {
                           return std::to_string(static_cast<int>(parameter.param.loss * 100)) +
                                  "Percent";
                         });

TEST_P(BbrLossTest, FillsTheLinkAndLeavesTheQueueEmpty) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LinkConfig lossy = link();
    lossy.loss = GetParam().loss;
    Bottleneck bottleneck(seed, CongestionAlgorithm::kBbr, lossy);
    EXPECT_GT(bottleneck.run(15s), GetParam().goodput);
    // Half of the time there is no queue; a probe fills the buffer for some round trips.
    EXPECT_LT(bottleneck.queue(0.5), 0.05);
    EXPECT_LT(bottleneck.queue(0.8), 0.35);
    EXPECT_NEAR(bottleneck.bbr().bandwidth(), k_rate, k_rate / 5.0);
    EXPECT_NEAR(static_cast<double>(bottleneck.bbr().minimum_rtt().count()), 40.5e6, 1e6);
  }
}

TEST_F(BottleneckTest, BbrComesToEveryState) {
  Bottleneck bottleneck(k_seed, CongestionAlgorithm::kBbr, link());
  bottleneck.run(15s);
  EXPECT_EQ(bottleneck.seen().size(), 7u);
}

TEST_F(BottleneckTest, BbrFollowsTheLinkDownAndUp) {
  Bottleneck bottleneck(k_seed, CongestionAlgorithm::kBbr, link());
  bottleneck.run(3s);
  LinkConfig slow = link();
  slow.rate = 5_mbps;
  bottleneck.change(slow);
  bottleneck.run(8s);
  EXPECT_GT(bottleneck.run(4s, 5_mbps), 0.85);
  EXPECT_LT(bottleneck.queue(0.5), 0.5);
  bottleneck.change(link());
  bottleneck.run(6s);
  EXPECT_GT(bottleneck.run(4s), 0.9);
}

TEST_F(BottleneckTest, BbrFindsALongerRoundTrip) {
  Bottleneck bottleneck(k_seed, CongestionAlgorithm::kBbr, link());
  bottleneck.run(3s);
  LinkConfig longer = link();
  longer.delay = 100ms;
  bottleneck.change(longer);
  bottleneck.run(14s);  // the old minimum is believed for ten seconds
  EXPECT_GT(bottleneck.run(5s), 0.85);
}

TEST_F(BottleneckTest, BbrToleratesShallowBuffers) {
  LinkConfig shallow = link();
  shallow.queue_bytes = k_path_bytes / 10;
  Bottleneck bottleneck(k_seed, CongestionAlgorithm::kBbr, shallow);
  EXPECT_GT(bottleneck.run(15s), 0.85);
  EXPECT_LT(bottleneck.sender().path().loss.packets_lost(), bottleneck.sender().packets_sent / 50);
}

TEST_F(BottleneckTest, AnApplicationThatSendsLittleDoesNotSpoilTheModel) {
  Bottleneck bottleneck(k_seed, CongestionAlgorithm::kBbr, link(), 4000);
  EXPECT_GT(bottleneck.run(1s), 0.8);
  bottleneck.run(2s);  // what is left of it, then silence
  ASSERT_TRUE(bottleneck.sender().finished());
  bottleneck.offer_steadily(2_mbps, 5s);
  EXPECT_NEAR(bottleneck.run(5s, 2_mbps), 1, 0.03);
  EXPECT_LT(bottleneck.queue(0.99), 0.1);
  bottleneck.sender().offer(k_endless);
  EXPECT_GT(bottleneck.run(1s), 0.8);
}

TEST_F(BottleneckTest, ALimitedStartIsNoPlateau) {
  Bottleneck bottleneck(k_seed, CongestionAlgorithm::kBbr, link(), 0);
  bottleneck.offer_steadily(1_mbps, 3s);
  bottleneck.run(3s);
  EXPECT_EQ(bottleneck.bbr().state(), Bbr::State::kStartup);
  bottleneck.sender().offer(k_endless);
  EXPECT_GT(bottleneck.run(2s), 0.85);
}

TEST_F(BottleneckTest, BbrStartsAgainAtOnceAfterSilence) {
  Bottleneck bottleneck(k_seed, CongestionAlgorithm::kBbr, link(), 6000);
  bottleneck.run(20s);  // 3 s of them with something to send
  ASSERT_TRUE(bottleneck.sender().finished());
  bottleneck.sender().offer(k_endless);
  bottleneck.run(40ms);
  EXPECT_GT(bottleneck.run(200ms), 0.85);
  EXPECT_NE(bottleneck.bbr().state(), Bbr::State::kProbeRtt);
}

// --- several flows ------------------------------------------------------------------------------

struct Flow {
  CongestionConfig congestion;
  bool shares = true;  // the bottleneck of the flow before it
};

// Runs flows, each with its own addresses, for 40 s. Returns the share of a link that each has
// after 20 s.
std::vector<double> shares(std::uint64_t seed, const std::vector<Flow>& flows) {
  Simulation simulation(seed);
  std::deque<BulkSender> senders;
  std::deque<BulkReceiver> receivers(flows.size());
  const NetworkPath* last = nullptr;
  for (std::uint8_t i = 0; i < flows.size(); ++i) {
    const Address near = address(1 + i), far = address(101 + i);
    const std::string sender = "sender " + std::to_string(i);
    const std::string receiver = "receiver " + std::to_string(i);
    simulation.add_host(
        sender, senders.emplace_back(AddressPair{near, far}, flows[i].congestion, k_endless));
    simulation.add_host(receiver, receivers[i]);
    if (last == nullptr || !flows[i].shares) {
      last = &simulation.connect({sender, near}, {receiver, far}, link(), {.delay = k_delay});
    } else {
      simulation.share(*last, {sender, near}, {receiver, far});
    }
  }
  simulation.run_for(20s);
  std::vector<double> result;
  for (const BulkSender& sender : senders) result.push_back(-static_cast<double>(sender.arrived()));
  simulation.run_for(40s);
  for (std::size_t i = 0; i < senders.size(); ++i) {
    result[i] =
        (result[i] + static_cast<double>(senders[i].arrived())) * BulkSender::k_size / 40 / k_rate;
  }
  return result;
}

TEST_F(BottleneckTest, BbrFlowsShare) {
  const auto share = shares(k_seed, {{{.algorithm = CongestionAlgorithm::kBbr, .seed = 1}},
                                     {{.algorithm = CongestionAlgorithm::kBbr, .seed = 2}}});
  EXPECT_GT(share[0] + share[1], 0.9);
  EXPECT_GT(std::min(share[0], share[1]), 0.35);
}

TEST_F(BottleneckTest, BbrAndCubicLeaveEachOtherRoom) {
  const auto share = shares(k_seed, {{{.algorithm = CongestionAlgorithm::kBbr}},
                                     {{.algorithm = CongestionAlgorithm::kCubic}}});
  EXPECT_GT(share[0] + share[1], 0.9);
  EXPECT_GT(std::min(share[0], share[1]), 0.25);
}

// The purpose of coupling: a connection gets no more because it has two paths over one bottleneck.
TEST_F(BottleneckTest, CoupledPathsTakeWhatOneFlowTakes) {
  const auto coupling = std::make_shared<OliaCoupling>();
  const CongestionConfig coupled{.algorithm = CongestionAlgorithm::kOlia, .coupling = coupling};
  const CongestionConfig alone{.algorithm = CongestionAlgorithm::kNewReno};
  const auto share = shares(k_seed, {{coupled}, {coupled}, {alone}});
  EXPECT_GT(share[0] + share[1] + share[2], 0.9);
  EXPECT_GT(share[2], 0.4);
  EXPECT_GT(share[0] + share[1], 0.3);
  // Without coupling the connection would get two thirds.
  const auto uncoupled = shares(k_seed, {{alone}, {alone}, {alone}});
  EXPECT_LT(uncoupled[2], share[2]);
}

// One path is used by nobody else, and another flow needs the other one. Nearly all of the latter
// is left to that flow.
TEST_F(BottleneckTest, CoupledPathsMoveToTheFreePath) {
  const auto coupling = std::make_shared<OliaCoupling>();
  const CongestionConfig coupled{.algorithm = CongestionAlgorithm::kOlia, .coupling = coupling};
  const CongestionConfig alone{.algorithm = CongestionAlgorithm::kNewReno};
  const auto share = shares(k_seed, {{coupled}, {coupled, /*shares=*/false}, {alone}});
  EXPECT_GT(share[0], 0.95);
  EXPECT_LT(share[1], 0.2);
  EXPECT_GT(share[1], 0.01);
  EXPECT_GT(share[2], 0.75);
}

// --- loss based ---------------------------------------------------------------------------------

class LossBasedBottleneckTest : public ::testing::TestWithParam<CongestionAlgorithm> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, LossBasedBottleneckTest,
                         ::testing::Values(CongestionAlgorithm::kNewReno,
                                           CongestionAlgorithm::kCubic, CongestionAlgorithm::kOlia),
                         [](const auto& parameter) {
                           return std::string(
                               make_congestion_controller({.algorithm = parameter.param})->name());
                         });

TEST_P(LossBasedBottleneckTest, FillsTheLinkWithinTenSeconds) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Bottleneck bottleneck(seed, GetParam(), link());
    EXPECT_GT(bottleneck.run(10s), 0.9);
  }
}

}  // namespace
}  // namespace sheaf::quic
