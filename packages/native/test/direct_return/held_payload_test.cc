#include "direct_return/held_payload.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf::quic {
namespace {

TEST(HeldPayload, HoldsBytesUntilTheyAreReleased) {
  HeldPayload payload(100);
  EXPECT_EQ(payload.append(std::vector<std::uint8_t>{1, 2, 3, 4, 5}), 5u);
  EXPECT_EQ(payload.available(), 105u);
  std::vector<std::uint8_t> out(3);
  EXPECT_EQ(payload.read(102, out), PayloadRead::kDone);
  EXPECT_EQ(out, (std::vector<std::uint8_t>{3, 4, 5}));
  EXPECT_EQ(payload.read(103, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(99, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(UINT64_MAX, out), PayloadRead::kNotThere);
  payload.release(101);
  payload.release(101);
  EXPECT_EQ(payload.read(100, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(101, out), PayloadRead::kDone);
  EXPECT_EQ(out, (std::vector<std::uint8_t>{2, 3, 4}));
  payload.release(1'000);
  EXPECT_EQ(payload.available(), 105u);
  EXPECT_EQ(payload.append(std::vector<std::uint8_t>{6}), 1u);
  EXPECT_EQ(payload.read(105, MutableBytes(out).first(1)), PayloadRead::kDone);
  EXPECT_EQ(out[0], 6);
}

TEST(HeldPayload, IsBounded) {
  HeldPayload payload(0);
  const std::vector<std::uint8_t> much(HeldPayload::k_max_held + 1);
  EXPECT_EQ(payload.append(much), HeldPayload::k_max_held);
  EXPECT_EQ(payload.room(), 0u);
  EXPECT_EQ(payload.append(much), 0u);
  payload.release(10);
  EXPECT_EQ(payload.append(much), 10u);
}

}  // namespace
}  // namespace sheaf::quic
