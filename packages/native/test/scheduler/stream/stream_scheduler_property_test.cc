#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "naive_dependency_tree.h"
#include "serving.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

using Kind = StreamSchedulerKind;

bool follows_tree(Kind kind) {
  return kind != Kind::kExtensible && kind != Kind::kFcfs && kind != Kind::kRoundRobin;
}

// Applies the same random operations to a scheduler and to the reference of its tree.
class Pair {
 public:
  Pair(Kind kind, std::uint64_t seed) : scheduler(make_stream_scheduler(kind)), random_(seed) {}

  void step() {
    const std::uint64_t stream = random_.below(10);
    const Dependency said{.node = random_.below(14),
                          .parent = random_.below(14),
                          .weight = static_cast<std::uint16_t>(1 + random_.below(5)),
                          .exclusive = random_.below(4) == 0};
    const std::uint64_t bytes = 1 + random_.below(100'000);
    switch (random_.below(7)) {
      case 0:
        scheduler->set_priority({stream}, {.urgency = static_cast<std::uint8_t>(stream % 8),
                                           .incremental = bytes % 2 == 0,
                                           .dependency = said});
        naive.set_stream(stream, said);
        break;
      case 1:
        scheduler->set_group(said);
        naive.set_group(said);
        break;
      case 2:
        scheduler->deactivate({stream});
        naive.deactivate(stream);
        break;
      case 3:
        if (random_.below(3) > 0) break;
        scheduler->forget({stream});
        naive.forget(stream);
        break;
      case 4:
        serve_one(1 + random_.below(100'000));
        break;
      default:
        scheduler->activate({stream}, bytes);
        naive.activate(stream, bytes);
    }
  }
  std::optional<std::uint64_t> serve_one(std::uint64_t remaining) {
    const auto stream = scheduler->next({});
    if (!stream) return std::nullopt;
    scheduler->on_sent(*stream, {.bytes = 1200, .remaining = remaining}, {});
    naive.activate(stream->value, remaining);
    return stream->value;
  }
  // Returns the active streams that have no active stream above them.
  std::vector<std::uint64_t> eligible() const {
    std::vector<std::uint64_t> found;
    for (const auto& [name, node] : naive.nodes) {
      if (!node.active) continue;
      const auto way = naive.way_to(name);
      const bool held = std::any_of(way.begin() + 1, way.end() - 1, [this](std::uint64_t above) {
        return naive.nodes.at(above).active;
      });
      if (!held) found.push_back(node.stream);
    }
    return found;
  }

  std::unique_ptr<StreamScheduler> scheduler;
  NaiveDependencyTree naive;

 private:
  SeededRandom random_;
};

class Properties : public testing::TestWithParam<NamedStreamScheduler> {};

// Checks that there is a next stream whenever one is active, that it is active, and that it does
// not precede a stream that it depends on.
TEST_P(Properties, NextIsEligible) {
  constexpr std::uint64_t k_seed = 31;
  Pair pair(GetParam().kind, k_seed);
  for (int step = 0; step < 6'000; ++step) {
    SCOPED_TRACE(testing::Message() << "seed " << k_seed << " step " << step);
    pair.step();
    const auto next = pair.scheduler->next({});
    const auto again = pair.scheduler->next({});
    ASSERT_EQ(next, again);
    const bool any =
        std::ranges::any_of(pair.naive.nodes, [](const auto& node) { return node.second.active; });
    ASSERT_EQ(next.has_value(), any);
    if (!next) continue;
    const std::uint64_t name = pair.naive.name_of(next->value);
    ASSERT_NE(name, 0u);
    ASSERT_TRUE(pair.naive.nodes.at(name).active);
    if (follows_tree(GetParam().kind)) {
      const auto eligible = pair.eligible();
      ASSERT_NE(std::ranges::find(eligible, next->value), eligible.end());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Properties, testing::ValuesIn(k_all_stream_schedulers),
                         [](const auto& parameter) { return test_name(parameter.param.kind); });

// Schedulers that share by weight, with the packets of a child in a round among those children.
struct Sharing {
  Kind kind;
  std::uint64_t (*packets)(std::uint64_t weight, std::uint64_t max_weight);
};
std::uint64_t by_weight(std::uint64_t weight, std::uint64_t) { return weight; }
std::uint64_t by_token(std::uint64_t weight, std::uint64_t max_weight) {
  return std::max(weight * 10 / max_weight, std::uint64_t{1});
}
std::uint64_t one(std::uint64_t, std::uint64_t) { return 1; }

class Shares : public testing::TestWithParam<Sharing> {
 protected:
  // For each child of a node on the path of a packet: the subtree that each packet came from, in
  // order.
  std::map<std::uint64_t, std::vector<std::uint64_t>> passed_;

  void expect_shares(const Pair& pair) {
    for (const auto& [parent, children] : passed_) {
      std::map<std::uint64_t, std::uint64_t> quantum;
      std::uint64_t max_weight = 0, round = 0;
      for (std::uint64_t child : pair.naive.children(parent)) {
        if (!pair.naive.ready(child)) continue;
        quantum[child] = pair.naive.nodes.at(child).weight;
        max_weight = std::max(max_weight, quantum[child]);
      }
      for (auto& [child, packets] : quantum) {
        packets = GetParam().packets(packets, max_weight);
        round += packets;
      }
      // Earlier packets may still count in the first round.
      for (std::size_t begin = round; begin + round <= children.size(); begin += round) {
        for (const auto& [child, packets] : quantum) {
          const auto got = static_cast<std::uint64_t>(
              std::count(children.begin() + static_cast<long>(begin),
                         children.begin() + static_cast<long>(begin + round), child));
          ASSERT_LE(got, packets + 1) << "child " << child << " of " << parent;
          ASSERT_GE(got + 1, packets) << "child " << child << " of " << parent;
        }
      }
    }
  }
};

// After any history, every ready child of every node gets its packets in every round, plus or minus
// one. A stream that depends on no sendable stream therefore never starves.
TEST_P(Shares, HoldWithinOnePacketOverARound) {
  int served_streams = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Pair pair(GetParam().kind, seed);
    for (int step = 0; step < 200; ++step) pair.step();
    passed_.clear();
    std::map<std::uint64_t, int> served;
    for (int packet = 0; packet < 1'500; ++packet) {
      const auto stream = pair.scheduler->next({});
      if (!stream) break;
      pair.scheduler->on_sent(*stream, {.bytes = 1200, .remaining = 50'000}, {});
      ++served[stream->value];
      const auto way = pair.naive.way_to(pair.naive.name_of(stream->value));
      for (std::size_t i = 0; i + 1 < way.size(); ++i) passed_[way[i]].push_back(way[i + 1]);
    }
    expect_shares(pair);
    if (HasFatalFailure()) return;
    served_streams += static_cast<int>(served.size());
  }
  EXPECT_GT(served_streams, 150);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Shares,
                         testing::Values(Sharing{Kind::kWeighted, by_weight},
                                         Sharing{Kind::kWeightedBurst, by_weight},
                                         Sharing{Kind::kScattered, by_token},
                                         Sharing{Kind::kScatteredReleased, one},
                                         Sharing{Kind::kDataSizeRootOnly, by_weight},
                                         Sharing{Kind::kStreamAwareEcf, by_weight}),
                         [](const auto& parameter) {
                           return "Kind" + std::to_string(static_cast<int>(parameter.param.kind));
                         });

// Repeats this with many siblings and all weights.
TEST(WeightedRoundRobinShares, HoldForAllWeights) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    const auto scheduler = make_stream_scheduler(Kind::kWeighted);
    const std::uint64_t count = 2 + random.below(60);
    std::vector<std::uint64_t> weights;
    std::uint64_t round = 0;
    for (std::uint64_t id = 0; id < count; ++id) {
      weights.push_back(1 + random.below(256));
      round += weights.back();
      depend(*scheduler, id + 1, 0, static_cast<std::uint16_t>(weights.back()));
      scheduler->activate({id + 1}, 10'000);
    }
    for (int rounds = 0; rounds < 3; ++rounds) {
      std::vector<std::uint64_t> packets(count);
      for (std::uint64_t stream : serve(*scheduler, static_cast<int>(round))) ++packets[stream - 1];
      for (std::uint64_t id = 0; id < count; ++id) {
        ASSERT_NEAR(static_cast<double>(packets[id]), static_cast<double>(weights[id]), 1.0)
            << "seed " << seed << " round " << rounds << " of " << round;
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
