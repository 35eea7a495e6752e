#include "crypto/tokens.h"

#include <ngtcp2/ngtcp2_crypto.h>

#include <cassert>

#include "crypto/ngtcp2_types.h"
#include "crypto/socket_address.h"

namespace sheaf::quic {
namespace {

// Returns a secret that depends on the version, since address tokens, unlike Retry tokens, do not
// contain it.
std::vector<std::uint8_t> versioned_secret(Bytes secret, std::uint32_t version) {
  std::vector<std::uint8_t> result(secret.size() + sizeof version);
  Writer writer{result};
  writer.write_bytes(secret);
  writer.write_u32(version);
  return result;
}

}  // namespace

std::vector<std::uint8_t> make_retry_token(Bytes secret, std::uint32_t version,
                                           const Address& remote, const ConnectionId& retry_source,
                                           const ConnectionId& original_destination, Time now) {
  const SocketAddress address{remote};
  const ngtcp2_cid source = to_ngtcp2(retry_source);
  const ngtcp2_cid original = to_ngtcp2(original_destination);
  std::vector<std::uint8_t> token(NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN2);
  token.resize(length_or_zero(ngtcp2_crypto_generate_retry_token2(
      token.data(), secret.data(), secret.size(), version, address.get(), address.length, &source,
      &original, to_nanoseconds(now))));
  return token;
}

std::optional<ConnectionId> verify_retry_token(Bytes secret, std::uint32_t version, Bytes token,
                                               const Address& remote,
                                               const ConnectionId& destination, Duration lifetime,
                                               Time now) {
  const SocketAddress address{remote};
  const ngtcp2_cid retry_source = to_ngtcp2(destination);
  ngtcp2_cid original;
  const int result = ngtcp2_crypto_verify_retry_token2(
      &original, token.data(), token.size(), secret.data(), secret.size(), version, address.get(),
      address.length, &retry_source, static_cast<ngtcp2_duration>(lifetime.count()),
      to_nanoseconds(now));
  if (result != 0) return std::nullopt;
  return from_ngtcp2(original);
}

std::vector<std::uint8_t> make_address_token(Bytes secret, const Address& remote, Time now,
                                             std::uint32_t version) {
  const SocketAddress address{remote};
  const auto key = versioned_secret(secret, version);
  std::vector<std::uint8_t> token(NGTCP2_CRYPTO_MAX_REGULAR_TOKENLEN);
  token.resize(length_or_zero(ngtcp2_crypto_generate_regular_token(
      token.data(), key.data(), key.size(), address.get(), address.length, to_nanoseconds(now))));
  return token;
}

bool verify_address_token(Bytes secret, Bytes token, const Address& remote, Duration lifetime,
                          Time now, std::uint32_t version) {
  const SocketAddress address{remote};
  const auto key = versioned_secret(secret, version);
  return ngtcp2_crypto_verify_regular_token(
             token.data(), token.size(), key.data(), key.size(), address.get(), address.length,
             static_cast<ngtcp2_duration>(lifetime.count()), to_nanoseconds(now)) == 0;
}

bool is_retry_token(Bytes token) {
  return !token.empty() && token.front() == NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY2;
}

StatelessResetToken stateless_reset_token(Bytes secret, const ConnectionId& id) {
  const ngtcp2_cid cid = to_ngtcp2(id);
  StatelessResetToken token{};
  [[maybe_unused]] const int result = ngtcp2_crypto_generate_stateless_reset_token(
      token.data(), secret.data(), secret.size(), &cid);
  assert(result == 0);  // HKDF of a short input cannot fail
  return token;
}

}  // namespace sheaf::quic
