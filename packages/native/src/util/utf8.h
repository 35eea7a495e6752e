#pragma once

#include <string_view>

namespace sheaf::quic {

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF, no character cut off.
bool is_utf8(std::string_view text);
// The longest beginning of at most `limit` bytes that cuts no character of valid text.
std::string_view utf8_prefix(std::string_view text, std::size_t limit);

}  // namespace sheaf::quic
