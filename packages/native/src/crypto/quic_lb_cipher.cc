#include "crypto/quic_lb_cipher.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace sheaf::quic {

namespace {

constexpr std::size_t k_length_at = 14;
constexpr std::size_t k_pass_at = 15;
constexpr std::uint8_t k_first_half_of_byte = 0xf0;
constexpr std::uint8_t k_second_half_of_byte = 0x0f;

}  // namespace

QuicLbCipher::QuicLbCipher(const Key& key, std::size_t length)
    : length_(length), half_((length + 1) / 2) {
  assert(length >= k_min_length && length <= k_max_length);
  const gnutls_datum_t datum{const_cast<unsigned char*>(key.data()),
                             static_cast<unsigned>(key.size())};
  gnutls_cipher_hd_t handle = nullptr;
  // GnuTLS has no ECB. CBC with a zero IV over one block is the same.
  if (gnutls_cipher_init(&handle, GNUTLS_CIPHER_AES_128_CBC, &datum, nullptr) != 0) std::abort();
  aes_.reset(handle);
}

void QuicLbCipher::encrypt(MutableBytes bytes) {
  assert(bytes.size() == length_);
  if (length_ == sizeof(Block)) return encrypt_block(bytes);
  Halves halves = split(bytes);
  for (unsigned number = 1; number <= k_passes; ++number) pass(halves, number);
  join(halves, bytes);
}

void QuicLbCipher::decrypt(MutableBytes bytes) {
  assert(bytes.size() == length_);
  if (length_ == sizeof(Block)) {
    start_block();
    if (gnutls_cipher_decrypt(aes_.get(), bytes.data(), bytes.size()) != 0) std::abort();
    return;
  }
  Halves halves = split(bytes);
  for (unsigned number = k_passes; number > 0; --number) pass(halves, number);
  join(halves, bytes);
}

QuicLbCipher::Halves QuicLbCipher::split(Bytes bytes) const {
  Halves halves;
  std::ranges::copy(bytes.first(half_), halves.left.begin());
  std::ranges::copy(bytes.last(half_), halves.right.begin());
  if (length_ % 2 == 1) {
    halves.left[half_ - 1] &= k_first_half_of_byte;
    halves.right[0] &= k_second_half_of_byte;
  }
  return halves;
}

void QuicLbCipher::join(const Halves& halves, MutableBytes bytes) const {
  const std::uint8_t shared = halves.left[half_ - 1];
  std::copy_n(halves.left.begin(), half_, bytes.begin());
  std::copy_n(halves.right.begin(), half_, bytes.last(half_).begin());
  if (length_ % 2 == 1) bytes[half_ - 1] |= shared;
}

// Odd passes change the right half by the left one, even passes the left half by the right one.
// Each pass undoes itself.
void QuicLbCipher::pass(Halves& halves, unsigned number) {
  const bool changes_right = number % 2 == 1;
  const auto& from = changes_right ? halves.left : halves.right;
  auto& to = changes_right ? halves.right : halves.left;
  Block block{};
  std::copy_n(from.begin(), half_, block.begin());
  block[k_length_at] = static_cast<std::uint8_t>(length_);
  block[k_pass_at] = static_cast<std::uint8_t>(number);
  encrypt_block(block);
  for (std::size_t i = 0; i < half_; ++i) to[i] ^= block[i];
  if (length_ % 2 == 0) return;
  if (changes_right) {
    to[0] &= k_second_half_of_byte;
  } else {
    to[half_ - 1] &= k_first_half_of_byte;
  }
}

void QuicLbCipher::encrypt_block(MutableBytes block) {
  start_block();
  if (gnutls_cipher_encrypt(aes_.get(), block.data(), block.size()) != 0) std::abort();
}

void QuicLbCipher::start_block() {
  Block zero{};
  gnutls_cipher_set_iv(aes_.get(), zero.data(), zero.size());
}

}  // namespace sheaf::quic
