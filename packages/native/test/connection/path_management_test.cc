#include "connection/path_management.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

constexpr Time k_now{std::chrono::seconds(1000)};

ConnectionConfig coupled() {
  ConnectionConfig config;
  config.congestion.algorithm = CongestionAlgorithm::kOlia;
  return config;
}

// A client whose server allows the paths 0 to 3, and gave connection ids for path 0 only.
class PathManagementTest : public testing::Test {
 protected:
  PathManagementTest() {
    ConnectionSeed seed;
    seed.local_id = id(200);
    seed.remote_id = id(201);
    parts_.make_first_path(seed, k_now);
    parts_.first_entry().remote_ids.set_initial(seed.remote_id);
    parts_.peer_parameters.initial_max_path_id = 3;
    EXPECT_TRUE(management_.enable(parts_.peer_parameters));
    parts_.established = true;
    parts_.handshake_confirmed = true;
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

  SeededRandom random_{1};
  Connection::Parts parts_{Role::kClient, coupled(), random_, k_now};
  PathManagement management_{parts_, k_now};
};

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
