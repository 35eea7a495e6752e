#include "machines/unanswered.h"

#include <gtest/gtest.h>

namespace sheaf::machines {
namespace {

using ServerId = std::vector<std::uint8_t>;

void keep(Unanswered& unanswered, const ServerId& server_id, std::uint16_t port,
          std::size_t size = 30) {
  std::vector<std::uint8_t> bytes(size, static_cast<std::uint8_t>(port));
  quic::Datagram datagram{bytes, {}, {}};
  datagram.path.remote.port = port;
  unanswered.keep(server_id, datagram);
}

TEST(Unanswered, KeepsTheLatestOfEachClientForEachMachine) {
  Unanswered unanswered;
  keep(unanswered, {1}, 1);
  keep(unanswered, {1}, 2);
  keep(unanswered, {2}, 3);
  keep(unanswered, {1}, 1, 40);
  const auto taken = unanswered.take({1});
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken.back().bytes.size(), 40u);
  EXPECT_TRUE(unanswered.take({1}).empty());
  EXPECT_EQ(unanswered.take({2}).size(), 1u);
}

TEST(Unanswered, IsBounded) {
  Unanswered unanswered;
  for (std::uint16_t port = 1; port <= 1000; ++port) keep(unanswered, {1}, port, 1400);
  const auto taken = unanswered.take({1});
  ASSERT_EQ(taken.size(), Unanswered::k_max_datagrams);
  EXPECT_EQ(taken.back().path.remote.port, 1000);
  for (const auto& kept : taken) EXPECT_EQ(kept.bytes.size(), Unanswered::k_max_bytes);
}

}  // namespace
}  // namespace sheaf::machines
