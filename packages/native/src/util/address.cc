#include "util/address.h"

#include <cstdio>

namespace sheaf::quic {
namespace {

std::string ipv4_text(const Address& address) {
  char text[16];
  std::snprintf(text, sizeof text, "%u.%u.%u.%u", address.ip[0], address.ip[1], address.ip[2],
                address.ip[3]);
  return text;
}

struct GroupRun {
  int start = 8;
  int length = 0;
};

// RFC 5952 §4.2: the longest run of at least two zero groups is shortened; of runs of equal length,
// the first.
GroupRun longest_zero_run(const std::array<std::uint16_t, 8>& groups) {
  GroupRun best;
  for (int i = 0; i < 8; ++i) {
    int end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i >= 2 && end - i > best.length) best = {i, end - i};
    if (end > i) i = end;
  }
  return best;
}

std::string ipv6_text(const Address& address) {
  std::array<std::uint16_t, 8> groups;
  for (int i = 0; i < 8; ++i) {
    groups[i] = static_cast<std::uint16_t>(address.ip[2 * i] << 8 | address.ip[2 * i + 1]);
  }
  const GroupRun zeros = longest_zero_run(groups);
  std::string text;
  for (int i = 0; i < 8; ++i) {
    if (i == zeros.start) {
      text += "::";
      i += zeros.length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    char group[5];
    std::snprintf(group, sizeof group, "%x", groups[i]);
    text += group;
  }
  if (address.scope_id != 0) text += "%" + std::to_string(address.scope_id);
  return text;
}

}  // namespace

std::string to_string(const Address& address) {
  const std::string port = ":" + std::to_string(address.port);
  switch (address.family) {
    case Address::Family::kNone:
      return "none";
    case Address::Family::kIpv4:
      return ipv4_text(address) + port;
    case Address::Family::kIpv6:
      return "[" + ipv6_text(address) + "]" + port;
  }
  return "none";
}

}  // namespace sheaf::quic
