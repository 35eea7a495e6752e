#include "tunnel_request/payload_contexts.h"

#include <gtest/gtest.h>

namespace sheaf::tunnel_request {
namespace {

using Side = PayloadContexts::Side;

constexpr std::array k_all_marks{Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe};

TEST(PayloadContexts, ThereIsOneWithoutAnAgreement) {
  const PayloadContexts contexts;
  EXPECT_FALSE(contexts.carry_marks());
  for (const Ecn ecn : k_all_marks) EXPECT_EQ(contexts.id_for(ecn)[0], 0);
  EXPECT_EQ(contexts.ecn_of(0), Ecn::kNotEct);
  for (std::uint64_t context = 1; context < 100; ++context) {
    EXPECT_EQ(contexts.ecn_of(context), std::nullopt);
  }
}

TEST(PayloadContexts, EachSideHasIdsOfItsOwn) {
  for (const Side side : {Side::kProxy, Side::kClient}) {
    const PayloadContexts contexts(side, {});
    EXPECT_TRUE(contexts.carry_marks());
    for (const Ecn ecn : k_all_marks) {
      const std::uint8_t id = contexts.id_for(ecn)[0];
      EXPECT_EQ(contexts.ecn_of(id), ecn);  // the peer may use them, too
      if (ecn == Ecn::kNotEct) continue;
      EXPECT_EQ(id % 2, side == Side::kProxy ? 1 : 0);
      EXPECT_NE(id, 1);  // reports
    }
  }
}

TEST(PayloadContexts, KnowsEverySetOfThePeer) {
  const std::uint64_t far = 999'999'999'999'998;
  const PayloadContexts contexts(Side::kProxy, {0, 8, 10, 12, 14, 16, 18, far});
  EXPECT_EQ(contexts.ecn_of(0), Ecn::kNotEct);
  EXPECT_EQ(contexts.ecn_of(8), Ecn::kEct1);
  EXPECT_EQ(contexts.ecn_of(10), Ecn::kEct0);
  EXPECT_EQ(contexts.ecn_of(12), Ecn::kCe);
  EXPECT_EQ(contexts.ecn_of(14), Ecn::kNotEct);
  EXPECT_EQ(contexts.ecn_of(far), Ecn::kCe);
  EXPECT_EQ(contexts.ecn_of(2), std::nullopt);
}

TEST(PayloadContexts, CongestionOutsidePassesToPacketsWhoseSendersHearMarks) {
  for (const Ecn inner : k_all_marks) {
    for (const Ecn outer : {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1}) {
      EXPECT_EQ(decapsulated(inner, outer), inner);
    }
  }
  EXPECT_EQ(decapsulated(Ecn::kEct0, Ecn::kCe), Ecn::kCe);
  EXPECT_EQ(decapsulated(Ecn::kEct1, Ecn::kCe), Ecn::kCe);
  EXPECT_EQ(decapsulated(Ecn::kCe, Ecn::kCe), Ecn::kCe);
  EXPECT_EQ(decapsulated(Ecn::kNotEct, Ecn::kCe), Ecn::kNotEct);
}

}  // namespace
}  // namespace sheaf::tunnel_request
