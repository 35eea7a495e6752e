#include "wire/transport_error.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

TEST(TransportError, HasAName) {
  EXPECT_EQ(to_string(TransportErrorCode::kFlowControlError), "FLOW_CONTROL_ERROR");
  EXPECT_EQ(to_string(TransportErrorCode::kNoViablePath), "NO_VIABLE_PATH");
}

TEST(TransportError, ShowsTheTlsAlert) {
  EXPECT_EQ(to_string(static_cast<TransportErrorCode>(0x12a)), "CRYPTO_ERROR 0x12a");
  EXPECT_EQ(to_string(TransportErrorCode::kCryptoErrorBase), "CRYPTO_ERROR 0x100");
}

TEST(TransportError, ShowsTheNumberOfAnUnknownOne) {
  EXPECT_EQ(to_string(static_cast<TransportErrorCode>(0x1234)), "0x1234");
}

}  // namespace
}  // namespace sheaf::quic
