#include <cstdlib>
#include <vector>

#include "crypto/tokens.h"

// Presents tokens that nobody issued. Checks that none is accepted.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  const Bytes token{data, size};
  const std::vector<std::uint8_t> secret(32, 1);
  const Address remote{.ip = {127, 0, 0, 1}, .port = 1, .family = Address::Family::kIpv4};
  const ConnectionId id(token.first(size < 20 ? size : 20));
  const Time now{std::chrono::hours(1)};
  is_retry_token(token);
  if (verify_retry_token(secret, k_version_1, token, remote, id, 1h, now)) std::abort();
  if (verify_address_token(secret, token, remote, 1h, now)) std::abort();
  stateless_reset_token(secret, id);
  return 0;
}
