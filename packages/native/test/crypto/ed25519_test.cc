#include "crypto/ed25519.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "wire/hex.h"

namespace sheaf::quic {
namespace {

template <typename Array>
Array array_of(const char* hex) {
  Array array;
  const auto bytes = from_hex(hex);
  std::ranges::copy(bytes, array.begin());
  return array;
}

// RFC 8032 §7.1, test 2
TEST(Ed25519, SignsAndVerifiesTheExample) {
  const SigningKey key(
      array_of<Ed25519Seed>("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  EXPECT_EQ(key.public_key(),
            array_of<Ed25519PublicKey>(
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"));
  const auto message = from_hex("72");
  const Ed25519Signature signature = key.sign(message);
  EXPECT_EQ(signature, array_of<Ed25519Signature>(
                           "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                           "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"));
  const VerifyingKey verifying(key.public_key());
  EXPECT_TRUE(verifying.verify(message, signature));
  EXPECT_FALSE(verifying.verify(from_hex("73"), signature));
  for (std::size_t bit = 0; bit < 512; bit += 7) {
    Ed25519Signature other = signature;
    other[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_FALSE(verifying.verify(message, other)) << bit;
  }
}

TEST(Ed25519, KeysThatAreNoPointsVerifyNothing) {
  for (int fill : {0x00, 0x01, 0x7f, 0xee, 0xff}) {
    Ed25519PublicKey key;
    key.fill(static_cast<std::uint8_t>(fill));
    Ed25519Signature signature;
    signature.fill(0x55);
    EXPECT_FALSE(VerifyingKey(key).verify(from_hex("00"), signature)) << fill;
  }
}

}  // namespace
}  // namespace sheaf::quic
