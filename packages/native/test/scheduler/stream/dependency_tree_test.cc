#include "scheduler/stream/dependency_tree.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <set>

#include "naive_dependency_tree.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

using Index = DependencyTree::Index;
constexpr Index k_none = DependencyTree::k_none;

// Keeps the set of ready nodes, as a scheduler does.
class Recorder final : public DependencyTree::Listener {
 public:
  void on_node(Index) override {}
  void on_linked(Index) override {}
  void on_ready(Index parent, Index child) override {
    if (!ready.emplace(parent, child).second) ADD_FAILURE() << "ready twice";
  }
  void on_idle(Index parent, Index child) override {
    if (ready.erase({parent, child}) == 0) ADD_FAILURE() << "idle, but was not ready";
  }
  void on_bytes(Index parent, Index child) override {
    if (!ready.contains({parent, child})) ADD_FAILURE() << "bytes of who is not ready";
  }
  std::set<std::pair<Index, Index>> ready;
};

class DependencyTreeTest : public testing::Test {
 protected:
  Recorder recorder_;
  DependencyTree tree_{recorder_};

  void stream(std::uint64_t id, std::uint64_t parent, std::uint16_t weight = 16,
              bool exclusive = false) {
    tree_.set_stream({id}, {id, parent, weight, exclusive});
  }
  const DependencyTree::Node& node(std::uint64_t id) { return tree_.node(tree_.find_node(id)); }
  std::uint64_t parent_of(std::uint64_t id) { return tree_.node(node(id).parent).id; }
};

TEST_F(DependencyTreeTest, PutsStreamsWithoutDependencyOnTheRoot) {
  tree_.set_stream({4}, {});
  tree_.activate({8}, 100);
  for (std::uint64_t id : {4, 8}) {
    const auto& known = tree_.node(tree_.find({id}));
    EXPECT_EQ(known.parent, DependencyTree::k_root);
    EXPECT_EQ(known.weight, 16);
  }
  EXPECT_EQ(tree_.find({12}), k_none);
}

// RFC 7540 §5.3.1, figures 3 and 4.
TEST_F(DependencyTreeTest, InsertsBesideAndExclusively) {
  stream(1, 0);
  stream(2, 1);
  stream(3, 1);
  stream(4, 1);
  EXPECT_EQ(parent_of(2), 1u);
  EXPECT_EQ(parent_of(3), 1u);
  stream(5, 1, 16, true);
  EXPECT_EQ(parent_of(5), 1u);
  for (std::uint64_t id : {2, 3, 4}) EXPECT_EQ(parent_of(id), 5u);
}

// RFC 7540 §5.3.3, figure 5: x, then A, with B and C, and C with D, E; E has F. A comes to depend
// on D.
class Reprioritisation : public DependencyTreeTest {
 protected:
  static constexpr std::uint64_t A = 1, B = 2, C = 3, D = 4, E = 5, F = 6;
  Reprioritisation() {
    stream(A, 0);
    stream(B, A);
    stream(C, A);
    stream(D, C, 33);
    stream(E, C);
    stream(F, D);
  }
};

TEST_F(Reprioritisation, TakesADescendantUpFirst) {
  stream(A, D);
  EXPECT_EQ(parent_of(D), 0u);
  EXPECT_EQ(node(D).weight, 33);
  EXPECT_EQ(parent_of(A), D);
  EXPECT_EQ(parent_of(F), D);
  EXPECT_EQ(parent_of(B), A);
  EXPECT_EQ(parent_of(C), A);
  EXPECT_EQ(parent_of(E), C);
}

TEST_F(Reprioritisation, TakesADescendantUpFirstExclusively) {
  stream(A, D, 16, true);
  EXPECT_EQ(parent_of(D), 0u);
  EXPECT_EQ(parent_of(A), D);
  EXPECT_EQ(parent_of(F), A);
  EXPECT_EQ(parent_of(C), A);
}

TEST_F(DependencyTreeTest, KeepsAPlaceForAParentThatIsNotKnownYet) {
  stream(7, 5, 20);
  EXPECT_EQ(tree_.groups(), 1u);
  EXPECT_EQ(parent_of(7), 5u);
  EXPECT_EQ(node(5).parent, DependencyTree::k_root);
  EXPECT_EQ(node(5).weight, 16);
  stream(5, 3, 200);
  EXPECT_EQ(parent_of(7), 5u);
  EXPECT_EQ(parent_of(5), 3u);
  EXPECT_EQ(node(5).weight, 200);
  EXPECT_TRUE(node(5).has_stream);
  tree_.set_group({.node = 3, .parent = 0, .weight = 101});
  EXPECT_EQ(node(3).weight, 101);
  EXPECT_EQ(tree_.groups(), 1u);
}

TEST_F(DependencyTreeTest, TakesWhoDependsOnItselfAsOnTheRoot) {
  stream(1, 0);
  stream(2, 1);
  stream(2, 2, 77);
  EXPECT_EQ(node(2).parent, DependencyTree::k_root);
  EXPECT_EQ(node(2).weight, 77);
}

TEST_F(DependencyTreeTest, ClampsWeights) {
  stream(1, 0, 0);
  stream(2, 0, 257);
  stream(3, 0, 65535);
  EXPECT_EQ(node(1).weight, 1);
  EXPECT_EQ(node(2).weight, 256);
  EXPECT_EQ(node(3).weight, 256);
}

// RFC 7540 §5.3.4: a weight of 60 is divided between 10 and 20 as 20 and 40; a weight of 1 gives
// each of three at least 1.
TEST_F(DependencyTreeTest, ChildrenOfAStreamThatEndsShareItsWeight) {
  stream(1, 0, 60);
  stream(2, 1, 10);
  stream(3, 1, 20);
  stream(4, 3, 256);
  tree_.forget({1});
  EXPECT_EQ(tree_.find({1}), k_none);
  EXPECT_EQ(tree_.find_node(1), k_none);
  EXPECT_EQ(node(2).parent, DependencyTree::k_root);
  EXPECT_EQ(node(2).weight, 20);
  EXPECT_EQ(node(3).weight, 40);
  EXPECT_EQ(parent_of(4), 3u);
  stream(5, 0, 1);
  for (std::uint64_t id : {6, 7, 8}) stream(id, 5);
  tree_.forget({5});
  for (std::uint64_t id : {6, 7, 8}) EXPECT_EQ(node(id).weight, 1);
}

TEST_F(DependencyTreeTest, GivesANodeToTheLastStreamThatNamesIt) {
  tree_.set_stream({4}, {.node = 1, .weight = 30});
  tree_.activate({4}, 500);
  stream(2, 1);
  tree_.set_stream({8}, {.node = 1, .weight = 40});
  EXPECT_EQ(tree_.find({8}), tree_.find_node(1));
  EXPECT_EQ(parent_of(2), 1u);
  const auto& other = tree_.node(tree_.find({4}));
  EXPECT_EQ(other.parent, DependencyTree::k_root);
  EXPECT_EQ(other.weight, 16);
  EXPECT_TRUE(other.active);
  EXPECT_EQ(other.bytes, 500u);
  EXPECT_FALSE(node(1).ready());
}

TEST_F(DependencyTreeTest, AStreamMayMoveToAnotherNode) {
  stream(1, 0);
  stream(2, 1);
  tree_.activate({1}, 70);
  tree_.set_stream({1}, {.node = 9, .parent = 2, .weight = 5});
  EXPECT_EQ(tree_.find_node(1), k_none);
  EXPECT_EQ(node(2).parent, DependencyTree::k_root);
  EXPECT_EQ(parent_of(9), 2u);
  EXPECT_TRUE(node(9).active);
  EXPECT_EQ(node(2).bytes, 70u);
}

TEST_F(DependencyTreeTest, TheLargestNumberIsNoId) {
  tree_.set_stream({4}, {.node = UINT64_MAX, .parent = UINT64_MAX, .weight = 9});
  tree_.set_group({.node = UINT64_MAX});
  stream(1, UINT64_MAX, 9);
  EXPECT_EQ(node(1).parent, DependencyTree::k_root);
  EXPECT_EQ(tree_.groups(), 0u);
}

TEST_F(DependencyTreeTest, OfTooManyGroupsThoseNamedLastStay) {
  for (std::uint64_t id = 1; id <= DependencyTree::k_max_groups; ++id)
    tree_.set_group({.node = id});
  stream(1000, 2, 100);  // names 2 again
  tree_.set_group({.node = 1001, .parent = 3, .weight = 50});
  EXPECT_EQ(tree_.groups(), DependencyTree::k_max_groups);
  EXPECT_EQ(tree_.find_node(1), k_none);
  EXPECT_NE(tree_.find_node(2), k_none);
  EXPECT_NE(tree_.find_node(3), k_none);
  // 3 was named as a parent, so 4, 5 and 6 are the oldest.
  for (std::uint64_t id = 2001; id <= 2003; ++id) tree_.set_group({.node = id});
  for (std::uint64_t id : {4, 5, 6}) EXPECT_EQ(tree_.find_node(id), k_none);
  EXPECT_EQ(parent_of(1001), 3u);
}

TEST_F(DependencyTreeTest, KnowsWhatIsReadyAndHowMuch) {
  stream(1, 0, 10);
  stream(2, 1, 20);
  stream(3, 1, 30);
  EXPECT_FALSE(tree_.node(DependencyTree::k_root).ready());
  tree_.activate({2}, 200);
  tree_.activate({3}, 300);
  EXPECT_EQ(node(1).ready_children, 2u);
  EXPECT_EQ(node(1).ready_weight, 50u);
  EXPECT_EQ(node(1).bytes, 500u);
  tree_.set_bytes(tree_.find({2}), 150);
  EXPECT_EQ(tree_.node(DependencyTree::k_root).bytes, 450u);
  tree_.deactivate(tree_.find({3}));
  EXPECT_EQ(node(1).ready_weight, 20u);
  tree_.forget({2});
  EXPECT_FALSE(tree_.node(DependencyTree::k_root).ready());
  EXPECT_EQ(tree_.node(DependencyTree::k_root).bytes, 0u);
  EXPECT_TRUE(recorder_.ready.empty());
}

// --- against the reference -----------------------------------------------------------------------

// Compares everything that the tree says with the reference, for every node.
void expect_equal(const DependencyTree& tree, const NaiveDependencyTree& naive,
                  const Recorder& recorder) {
  const auto index_of = [&](std::uint64_t name) {
    if (name == 0) return DependencyTree::k_root;
    const auto& node = naive.nodes.at(name);
    return node.has_stream ? tree.find({node.stream}) : tree.find_node(name);
  };
  std::size_t ready = 0;
  for (const auto& [name, expected] : naive.nodes) {
    SCOPED_TRACE(testing::Message() << "node " << name);
    const Index index = index_of(name);
    ASSERT_NE(index, k_none);
    const auto& node = tree.node(index);
    ASSERT_EQ(node.parent, index_of(expected.parent));
    ASSERT_EQ(node.weight, expected.weight);
    ASSERT_EQ(node.has_stream, expected.has_stream);
    ASSERT_EQ(node.active, expected.active);
    ASSERT_EQ(node.depth, naive.way_to(name).size() - 1);
    ASSERT_EQ(node.bytes, naive.bytes(name));
    ASSERT_EQ(node.ready(), naive.ready(name));
    if (node.ready()) {
      ASSERT_TRUE(recorder.ready.contains({node.parent, index}));
      ++ready;
    }
    std::uint32_t weight = 0;
    for (std::uint64_t child : naive.children(name)) {
      if (naive.ready(child)) weight += naive.nodes.at(child).weight;
    }
    ASSERT_EQ(node.ready_weight, weight);
  }
  ASSERT_EQ(recorder.ready.size(), ready);
  ASSERT_EQ(tree.groups(), naive.groups.size());
}

struct Mix {
  std::uint64_t seed;
  std::uint64_t ids;  // of nodes and streams
  int steps;
  std::uint64_t chain;  // of 10: so many name the id before as the parent
  int compare_every;
};

class RandomTrees : public testing::TestWithParam<Mix> {};

TEST_P(RandomTrees, AreThoseOfTheReference) {
  const auto [seed, ids, steps, chain, compare_every] = GetParam();
  SeededRandom random(seed);
  Recorder recorder;
  DependencyTree tree(recorder);
  NaiveDependencyTree naive;
  // When chains are wanted, begins one that is deeper than a tree may be.
  for (std::uint64_t id = 1; chain > 5 && id < ids; ++id) {
    tree.set_stream({id}, {.node = id, .parent = id - 1});
    naive.set_stream(id, {.node = id, .parent = id - 1});
  }
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step);
    const std::uint64_t id = random.below(ids);
    const std::uint64_t stream = random.below(4) == 0 ? random.below(ids) : id;
    Dependency said{.node = id,
                    .parent = random.below(10) < chain && id > 0 ? id - 1 : random.below(ids),
                    .weight = static_cast<std::uint16_t>(random.below(300)),
                    .exclusive = random.below(3) == 0};
    if (chain > 5 && random.below(5) == 0) {
      // Pushes all nodes down.
      said = {.node = ids + random.below(60), .parent = random.below(4), .exclusive = true};
    }
    const std::uint64_t bytes = random.below(1'000'000);
    switch (random.below(chain > 5 ? 5 : 8)) {
      case 0:
      case 1:
      case 2:
        tree.set_stream({stream}, said);
        naive.set_stream(stream, said);
        break;
      case 3:
        tree.set_group(said);
        naive.set_group(said);
        break;
      case 4:
        tree.activate({stream}, bytes);
        naive.activate(stream, bytes);
        break;
      case 5:
        if (tree.find({stream}) != k_none) tree.deactivate(tree.find({stream}));
        naive.deactivate(stream);
        break;
      default:
        tree.forget({stream});
        naive.forget(stream);
    }
    if (step % compare_every == 0) expect_equal(tree, naive, recorder);
    if (HasFatalFailure()) return;
  }
  expect_equal(tree, naive, recorder);
}

// The cases are: few nodes, which interact often; more groups than are kept; long chains.
INSTANTIATE_TEST_SUITE_P(Mixes, RandomTrees,
                         testing::Values(Mix{1, 12, 8'000, 0, 1}, Mix{2, 40, 2'000, 3, 5},
                                         Mix{3, 600, 1'500, 0, 250}, Mix{4, 200, 800, 9, 40}),
                         [](const auto& parameter) {
                           return "Seed" + std::to_string(parameter.param.seed);
                         });

// --- hostile trees -------------------------------------------------------------------------------

class HostileTree : public DependencyTreeTest {
 protected:
  static constexpr std::uint64_t k_many = 100'000;

  template <typename Step>
  void repeat(const char* what, Step step) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t i = 1; i <= k_many; ++i) step(i);
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - start;
    std::cout << what << ": " << taken.count() / k_many << " us each\n";
  }
  void expect_bounded(std::size_t streams) {
    EXPECT_LE(tree_.groups(), DependencyTree::k_max_groups);
    // There is one more while a new group replaces the oldest, and one more for the root.
    EXPECT_LE(tree_.size(), streams + DependencyTree::k_max_groups + 2);
    for (Index index = 1; index < tree_.size(); ++index) {
      ASSERT_LE(tree_.node(index).depth, DependencyTree::k_max_depth);
    }
  }
};

TEST_F(HostileTree, AChainOfGroups) {
  repeat("chain of groups",
         [this](std::uint64_t i) { tree_.set_group({.node = i, .parent = i - 1}); });
  expect_bounded(0);
}

TEST_F(HostileTree, AChainOfGroupsBackwards) {
  repeat("chain of groups, parents last", [this](std::uint64_t i) {
    tree_.set_group({.node = k_many - i + 1, .parent = k_many - i});
  });
  expect_bounded(0);
}

TEST_F(HostileTree, AChainOfStreams) {
  for (std::uint64_t id = 1; id <= 100; ++id) {
    stream(id, id - 1);
    tree_.activate({id}, 1);
  }
  repeat("chain of 100 active streams, anew", [this](std::uint64_t i) {
    const std::uint64_t id = 1 + i % 100;
    stream(id, id - 1, static_cast<std::uint16_t>(1 + i % 256));
  });
  expect_bounded(100);
}

TEST_F(HostileTree, ExclusiveInserts) {
  for (std::uint64_t id = 1; id <= 20; ++id) {
    stream(id, 0);
    tree_.activate({id}, 1);
  }
  repeat("exclusive inserts above 20 active streams", [this](std::uint64_t i) {
    tree_.set_group({.node = 1'000'000 + i, .parent = 0, .weight = 1, .exclusive = true});
  });
  expect_bounded(20);
}

TEST_F(HostileTree, Cycles) {
  repeat("cycles of three", [this](std::uint64_t i) {
    stream(1 + i % 3, 1 + (i + 1) % 3, 16, i % 2 == 0);
    if (i % 5 == 0) tree_.activate({1 + i % 3}, i);
  });
  expect_bounded(3);
}

TEST_F(HostileTree, OneNodeForManyStreams) {
  repeat("the same node for all of 1,000 streams",
         [this](std::uint64_t i) { tree_.set_stream({4 * (i % 1000)}, {.node = 1, .weight = 0}); });
  expect_bounded(1000);
}

}  // namespace
}  // namespace sheaf::quic
