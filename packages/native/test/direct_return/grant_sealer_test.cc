#include "direct_return/grant_sealer.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

class GrantSealerTest : public testing::Test {
 protected:
  // Opens what was sealed with the key of this test, as a backend does.
  std::vector<std::uint8_t> opened(std::vector<std::uint8_t> sealed, Bytes with) {
    PacketKeys keys;
    std::copy(key_.begin(), key_.end(), keys.key.begin());
    keys.key_length = 32;
    const auto aead = make_aead(CipherSuite::kAes256GcmSha384, keys, CryptoProvider::kGnuTls);
    std::uint64_t counter = 0;
    for (std::size_t i = 0; i < GrantSealer::k_counter_length; ++i) {
      counter = counter << 8 | sealed[i];
    }
    const MutableBytes payload = MutableBytes(sealed).subspan(GrantSealer::k_counter_length);
    if (!aead->open_in_place(with, payload, {}, counter)) return {};
    return {payload.begin(), payload.end() - k_aead_tag_length};
  }

  std::array<std::uint8_t, 32> key_{1, 2, 3};
  std::vector<std::uint8_t> associated_{7, 8, 9};
  GrantSealer sealer_{key_, associated_};
};

TEST_F(GrantSealerTest, EachGrantHasACounterOfItsOwnAndCanBeOpened) {
  for (std::uint8_t i = 1; i <= 3; ++i) {
    std::vector<std::uint8_t> grant(200, i);
    const auto sealed = sealer_.seal(grant);
    EXPECT_EQ(sealed.size(), 6u + 200 + 16);
    EXPECT_EQ(sealed[5], i);
    EXPECT_EQ(opened(sealed, associated_), std::vector<std::uint8_t>(200, i));
    EXPECT_EQ(grant, std::vector<std::uint8_t>(200));
  }
}

TEST_F(GrantSealerTest, AnotherSessionCannotOpenIt) {
  std::vector<std::uint8_t> grant(10, 5);
  const auto sealed = sealer_.seal(grant);
  EXPECT_TRUE(opened(sealed, std::vector<std::uint8_t>{7, 8}).empty());
}

}  // namespace
}  // namespace sheaf::quic
