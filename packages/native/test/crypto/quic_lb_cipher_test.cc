#include "crypto/quic_lb_cipher.h"

#include <gtest/gtest.h>

#include "util/random.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

QuicLbCipher::Key key_from_hex(std::string_view text) {
  QuicLbCipher::Key key;
  std::ranges::copy(from_hex(text), key.begin());
  return key;
}

struct QuicLbVector {
  const char* key;
  const char* server_id_and_nonce;
  const char* routed;
};

// draft-ietf-quic-load-balancers-21: the example of §5.4.2, and the test vectors of its appendix
constexpr QuicLbVector k_vectors[] = {
    {"fdf726a9893ec05c0632d3956680baf0", "31441a9c69c275", "67947d29be054a"},
    {"8f95f09245765f80256934e50c66207f", "ed793aee080dbf", "20b1d07b359d3c"},
    {"8f95f09245765f80256934e50c66207f", "ed793a51d49b8f5fab65ee080dbf48",
     "cc381bc74cb4fbad2823a3d1f8fed2"},
    {"8f95f09245765f80256934e50c66207f", "ed793a51d49b8f5fee080dbf48c0d1e5",
     "4dd2d05a7b0de9b2b9907afb5ecf8cc3"},
    {"8f95f09245765f80256934e50c66207f", "ed793a51d49b8f5fabee080dbf48c0d1e55d",
     "5779c9cc86beb3a3a4a3ca96fce4bfe0cdbc"},
};

TEST(QuicLbCipher, MatchesTheTestVectors) {
  for (const QuicLbVector& vector : k_vectors) {
    auto bytes = from_hex(vector.server_id_and_nonce);
    QuicLbCipher cipher(key_from_hex(vector.key), bytes.size());
    cipher.encrypt(bytes);
    EXPECT_EQ(bytes, from_hex(vector.routed));
    cipher.decrypt(bytes);
    EXPECT_EQ(bytes, from_hex(vector.server_id_and_nonce));
  }
}

TEST(QuicLbCipher, UndoesItselfAtEveryLength) {
  SeededRandom random(7);
  for (std::size_t length = QuicLbCipher::k_min_length; length <= QuicLbCipher::k_max_length;
       ++length) {
    QuicLbCipher::Key key;
    random.fill(key);
    QuicLbCipher cipher(key, length);
    for (int i = 0; i < 100; ++i) {
      std::vector<std::uint8_t> bytes(length);
      random.fill(bytes);
      const auto before = bytes;
      cipher.encrypt(bytes);
      EXPECT_NE(bytes, before);
      cipher.decrypt(bytes);
      ASSERT_EQ(bytes, before);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
