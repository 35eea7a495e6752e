#include "workers/shared_routes.h"

#include <gtest/gtest.h>

namespace sheaf::workers {
namespace {

using quic::ConnectionId;
using Source = SharedRoutes::Source;

const std::vector<std::uint8_t> k_bytes_of_id = {1, 2, 3, 4, 5, 6, 7, 8};

TEST(SharedRoutes, WhatAClientChoseLeadsFirstPacketsAlone) {
  SharedRoutes routes;
  const ConnectionId id(k_bytes_of_id);
  routes.add(id, {3, Source::kClient});
  EXPECT_EQ(routes.find(id, true), 3u);
  EXPECT_FALSE(routes.find(id, false));
}

TEST(SharedRoutes, AClientCannotTakeTheIdOfAConnection) {
  SharedRoutes routes;
  const ConnectionId id(k_bytes_of_id);
  routes.add(id, {1, Source::kServer});
  routes.add(id, {2, Source::kClient});
  EXPECT_EQ(routes.find(id, true), 1u);
  EXPECT_EQ(routes.find(id, false), 1u);
  // The one that a connection needs replaces what a client chose.
  const ConnectionId other(quic::Bytes(k_bytes_of_id).first(7));
  routes.add(other, {2, Source::kClient});
  routes.add(other, {1, Source::kServer});
  EXPECT_EQ(routes.find(other, false), 1u);
}

TEST(SharedRoutes, AWorkerRemovesItsOwnAlone) {
  SharedRoutes routes;
  const ConnectionId id(k_bytes_of_id);
  routes.add(id, {1, Source::kServer});
  routes.remove(id, 2);
  EXPECT_EQ(routes.find(id, false), 1u);
  routes.remove(id, 1);
  EXPECT_EQ(routes.size(), 0u);
  routes.add(id, {1, Source::kServer});
  routes.remove_all(2);
  EXPECT_EQ(routes.size(), 1u);
  routes.remove_all(1);
  EXPECT_EQ(routes.size(), 0u);
}

}  // namespace
}  // namespace sheaf::workers
