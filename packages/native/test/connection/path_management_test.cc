#include "connection/path_management.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

constexpr Time k_present{std::chrono::seconds(1000)};

ConnectionConfig coupled() {
  ConnectionConfig config;
  config.congestion.algorithm = CongestionAlgorithm::kOlia;
  return config;
}

// A client whose server permits the paths 0 to 3, and issued connection ids only for path 0.
class PathManagementTest : public testing::Test {
 protected:
  PathManagementTest() {
    ConnectionSeed seed;
    seed.local_id = id(200);
    seed.remote_id = id(201);
    parts_.make_first_path(seed, k_present);
    parts_.first_entry().remote_ids.set_initial(seed.remote_id);
    parts_.peer_parameters.initial_max_path_id = 3;
    EXPECT_TRUE(management_.enable(parts_.peer_parameters));
    parts_.handshake.establish();
    parts_.handshake.confirm();
  }
  static ConnectionId id(std::uint8_t value) {
    return ConnectionId(std::vector<std::uint8_t>(8, value));
  }
  void give_id(std::uint8_t path, std::uint8_t sequence = 0) {
    const auto value = static_cast<std::uint8_t>(1 + 10 * path + sequence);
    const NewConnectionIdFrame issued{
        .sequence = sequence, .retire_prior_to = 0, .id = id(value), .reset_token = {value}};
    EXPECT_TRUE(management_.on_frame(PathNewConnectionIdFrame{PathId{path}, issued}));
  }
  Result<PathId, PathRefusal> open() { return management_.open({}); }
  // Returns how often the application was told that it can open a path, since the last call.
  int announcements() {
    int told = 0;
    for (; !parts_.events.empty(); parts_.events.pop_front()) {
      told += std::holds_alternative<PathsAvailableEvent>(parts_.events.front());
    }
    return told;
  }

  SeededRandom random_{1};
  ConnectionParts parts_{Role::kClient, coupled(), random_, k_present};
  PathManagement management_{parts_, k_present};
};

TEST_F(PathManagementTest, OpensTheLowestPathThatHasConnectionIds) {
  give_id(3);
  give_id(2);
  EXPECT_EQ(*open(), PathId{2});
  EXPECT_EQ(*open(), PathId{3});
  ASSERT_FALSE(open());
  EXPECT_EQ(open().error(), PathRefusal::kNoConnectionId);
  EXPECT_TRUE(parts_.paths.find(PathId{1})->cids_blocked_due);
  give_id(1);
  EXPECT_EQ(*open(), PathId{1});
  EXPECT_EQ(open().error(), PathRefusal::kPathLimit);
}

TEST_F(PathManagementTest, TellsOnceThatAPathCanBeOpened) {
  give_id(2);
  EXPECT_EQ(announcements(), 1);
  give_id(2, 1);
  give_id(1);
  EXPECT_EQ(announcements(), 0) << "it knows";
  ASSERT_TRUE(open());
  ASSERT_TRUE(open());
  give_id(3);
  EXPECT_EQ(announcements(), 1);
}

TEST_F(PathManagementTest, TellsAgainAfterThePeerTookTheLastIdBack) {
  give_id(1);
  EXPECT_EQ(announcements(), 1);
  ASSERT_TRUE(management_.on_frame(PathAbandonFrame{PathId{1}, 0}));
  EXPECT_FALSE(open());
  give_id(2);
  EXPECT_EQ(announcements(), 1);
}

// Ids of a path and the limit that permits it may come in any order.
TEST_F(PathManagementTest, TellsWhenTheLimitFollowsTheIds) {
  give_id(5);
  EXPECT_EQ(announcements(), 0);
  ASSERT_TRUE(management_.on_frame(MaxPathIdFrame{PathId{5}}));
  EXPECT_EQ(announcements(), 1);
  EXPECT_EQ(*open(), PathId{5});
}

TEST_F(PathManagementTest, AnAbandonedPathLeavesTheCouplingBeforeItIsForgotten) {
  give_id(1);
  ASSERT_TRUE(open());
  EXPECT_EQ(parts_.coupling->size(), 2u);
  ASSERT_TRUE(management_.abandon(PathId{1}, 0));
  EXPECT_NE(parts_.paths.find(PathId{1})->path, nullptr);
  EXPECT_EQ(parts_.coupling->size(), 1u);
}

}  // namespace
}  // namespace sheaf::quic
