#pragma once

#include <string_view>

namespace sheaf::quic {

// Returns whether the text is UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above
// U+10FFFF, no character cut off.
bool is_utf8(std::string_view text);
// Returns the longest prefix of at most `limit` bytes that cuts off no character of valid text.
std::string_view utf8_prefix(std::string_view text, std::size_t limit);

}  // namespace sheaf::quic
