#include "crypto/aead_usage.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

TEST(AeadUsage, AsksForANewKeyAtHalfOfTheLimit) {
  AeadUsage usage{1000, 10};
  usage.on_sealed(499);
  EXPECT_FALSE(usage.wants_new_key());
  usage.on_sealed(1);
  EXPECT_TRUE(usage.wants_new_key());
  usage.on_new_key();
  EXPECT_FALSE(usage.wants_new_key());
}

TEST(AeadUsage, IsExhaustedBeforeTheLimit) {
  AeadUsage usage{1000, 10};
  usage.on_sealed(700);
  EXPECT_FALSE(usage.exhausted());
  usage.on_sealed(100);
  EXPECT_TRUE(usage.exhausted());
  usage.on_new_key();
  EXPECT_FALSE(usage.exhausted());
}

TEST(AeadUsage, CountsForgeriesOverAllKeys) {
  AeadUsage usage{1000, 10};
  for (int i = 0; i < 10; ++i) usage.on_forged();
  usage.on_new_key();
  EXPECT_FALSE(usage.forgery_limit_reached());
  usage.on_forged();
  EXPECT_TRUE(usage.forgery_limit_reached());
}

}  // namespace
}  // namespace sheaf::quic
