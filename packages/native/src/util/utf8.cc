#include "util/utf8.h"

#include <cstdint>

namespace sheaf::quic {
namespace {

bool is_continuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xc0) == 0x80; }

// The number of bytes of the character that `lead` begins, 0 for none, and the range of its second
// byte (RFC 3629 §4).
struct Lead {
  std::size_t length = 0;
  std::uint8_t second_from = 0x80;
  std::uint8_t second_to = 0xbf;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte >= 0xc2 && byte <= 0xdf) return {2};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte >= 0xe1 && byte <= 0xef) return {3};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte >= 0xf1 && byte <= 0xf3) return {4};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {};
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Lead lead = lead_of(static_cast<std::uint8_t>(text[i]));
    if (lead.length == 0 || lead.length > text.size() - i) return false;
    if (lead.length > 1) {
      const auto second = static_cast<std::uint8_t>(text[i + 1]);
      if (second < lead.second_from || second > lead.second_to) return false;
    }
    for (std::size_t k = 2; k < lead.length; ++k) {
      if (!is_continuation(text[i + k])) return false;
    }
    i += lead.length;
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && is_continuation(text[limit])) --limit;
  return text.substr(0, limit);
}

}  // namespace sheaf::quic
