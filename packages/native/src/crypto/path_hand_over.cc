#include "crypto/path_hand_over.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_limit = std::uint64_t{1} << 62;  // RFC 9000 §12.3: limit of numbers

bool valid_direction(const DirectionKeys& keys) {
  const CipherSuite suite = keys.secret.suite;
  return known(suite) && keys.secret.length == secret_length(suite) &&
         keys.header_key.key_length == key_length(suite) && keys.generation < k_limit &&
         (keys.secret.version == k_version_1 || keys.secret.version == k_version_2);
}

}  // namespace

bool PathHandOver::valid() const {
  if (!send && !receive) return false;
  if ((send && !valid_direction(*send)) || (receive && !valid_direction(*receive))) return false;
  if (send && receive &&
      (send->secret.suite != receive->secret.suite ||
       send->secret.version != receive->secret.version)) {
    return false;
  }
  const CipherSuite suite = (send ? *send : *receive).secret.suite;
  return next_number < k_limit && sealed <= confidentiality_limit(suite) &&
         forged <= integrity_limit(suite);
}

}  // namespace sheaf::quic
