#include "crypto/library_check.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

// A test program exports no symbols of ngtcp2, so its calls go to the shared library.
TEST(LibraryCheck, AcceptsTheSystemsLibraries) {
  const auto problem = check_libraries();
  EXPECT_FALSE(problem) << *problem;
}

}  // namespace
}  // namespace sheaf::quic
