#include "crypto/batch_hasher.h"

#include <gtest/gtest.h>

#include "util/random.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> bytes_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

// FIPS 180-4, examples
TEST(BatchHasher, HashesKnownMessages) {
  for (CryptoProvider provider : {CryptoProvider::kGnuTls, CryptoProvider::kIpsecMb}) {
    const auto hasher = make_batch_hasher(provider);
    if (!hasher) continue;
    EXPECT_EQ(bytes_of(hasher->hash_one(from_hex("616263"))),
              from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    EXPECT_EQ(bytes_of(hasher->hash_one({})),
              from_hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
  }
}

TEST(BatchHasher, ProvidersAgreeOnBatches) {
  const auto one = make_batch_hasher(CryptoProvider::kGnuTls);
  const auto other = make_batch_hasher(CryptoProvider::kIpsecMb);
  if (!other) GTEST_SKIP() << "this processor has no IPsec-MB";
  SeededRandom random{5};
  for (std::size_t count : {1, 2, 15, 16, 17, 63, 64, 65, 200}) {
    std::vector<std::vector<std::uint8_t>> messages(count);
    std::vector<Bytes> views;
    for (auto& message : messages) {
      message.resize(random.below(1500));
      random.fill(message);
      views.emplace_back(message);
    }
    std::vector<Sha256Digest> digests[2];
    for (auto& list : digests) list.resize(count);
    one->hash(views, digests[0]);
    other->hash(views, digests[1]);
    EXPECT_EQ(digests[0], digests[1]) << count;
    EXPECT_EQ(other->hash_one(views[0]), digests[0][0]);
    RunningHash running;
    for (std::size_t i = 0; i < 2; ++i) {
      running.update(views[0].first(views[0].size() / 3));
      running.update(views[0].subspan(views[0].size() / 3));
      EXPECT_EQ(running.finish(), digests[0][0]);
    }
  }
}

// RFC 4231 §4.3
TEST(BatchHasher, ComputesTheHmacExample) {
  EXPECT_EQ(
      bytes_of(hmac_sha256(from_hex("4a656665"),
                           from_hex("7768617420646f2079612077616e7420666f72206e6f7468696e673f"))),
      from_hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
}

}  // namespace
}  // namespace sheaf::quic
