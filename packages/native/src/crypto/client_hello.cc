#include "crypto/client_hello.h"

#include <algorithm>
#include <span>
#include <vector>

namespace sheaf::quic {
namespace {

// Extension types of RFC 8446 §4.2
constexpr std::uint16_t k_supported_groups = 10;
constexpr std::uint16_t k_pre_shared_key = 41;
constexpr std::uint16_t k_key_share = 51;

// Returns the code point of a group (RFC 8446 §4.2.7); 0 for a group that this library does not
// offer.
std::uint16_t number_of(unsigned group) {
  switch (group) {
    case GNUTLS_GROUP_SECP256R1:
      return 0x17;
    case GNUTLS_GROUP_SECP384R1:
      return 0x18;
    case GNUTLS_GROUP_SECP521R1:
      return 0x19;
    case GNUTLS_GROUP_X25519:
      return 0x1d;
    default:
      return 0;
  }
}

std::vector<std::uint16_t> groups_of(gnutls_priority_t priority) {
  const unsigned* list = nullptr;
  const int count = gnutls_priority_group_list(priority, &list);
  std::vector<std::uint16_t> groups;
  if (count > 0) groups.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) groups.push_back(number_of(list[i]));
  return groups;
}

Bytes extensions_of(Bytes body) {
  Reader reader{body};
  reader.read_bytes(2 + 32);             // version and random
  reader.read_bytes(reader.read_u8());   // session id
  reader.read_bytes(reader.read_u16());  // cipher suites
  reader.read_bytes(reader.read_u8());   // compression methods
  return reader.read_bytes(reader.read_u16());
}

}  // namespace

bool lacks_key_share(Bytes body, gnutls_priority_t priority) {
  std::vector<std::uint16_t> supported;
  std::vector<std::uint16_t> shared;
  for (Reader reader{extensions_of(body)}; !reader.empty();) {
    const std::uint16_t type = reader.read_u16();
    Reader value{reader.read_bytes(reader.read_u16())};
    if (type != k_supported_groups && type != k_key_share) continue;
    Reader list{value.read_bytes(value.read_u16())};
    while (!list.empty()) {
      (type == k_key_share ? shared : supported).push_back(list.read_u16());
      if (type == k_key_share) list.read_bytes(list.read_u16());
    }
  }
  const std::vector<std::uint16_t> own = groups_of(priority);
  const auto chosen = std::ranges::find_first_of(supported, own);
  return chosen != supported.end() && std::ranges::find(shared, *chosen) == shared.end();
}

Bytes offered_ticket(Bytes body) {
  for (Reader reader{extensions_of(body)}; !reader.empty();) {
    const std::uint16_t type = reader.read_u16();
    Reader value{reader.read_bytes(reader.read_u16())};
    if (type != k_pre_shared_key) continue;
    Reader identities{value.read_bytes(value.read_u16())};
    return identities.read_bytes(identities.read_u16());
  }
  return {};
}

}  // namespace sheaf::quic
