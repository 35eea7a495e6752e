#include "util/utf8.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

TEST(Utf8, TakesWhatIsWellFormed) {
  for (const char* text : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa4z"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
}

TEST(Utf8, RefusesWhatIsNot) {
  for (const char* text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xe2\x82",
        "\xe2\x82z", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "fine\xfe"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(Utf8, CutsBetweenCharacters) {
  const std::string_view text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";  // 1, 2, 3 and 4 bytes
  const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t limit = 0; limit < std::size(ends); ++limit) {
    const auto cut = utf8_prefix(text, limit);
    EXPECT_EQ(cut.size(), ends[limit]) << limit;
    EXPECT_TRUE(is_utf8(cut));
  }
}

}  // namespace
}  // namespace sheaf::quic
