#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace sheaf::switchboard {

// A file with known bytes, which has no name any more.
class TestFile {
 public:
  explicit TestFile(std::size_t length) {
    char name[] = "/tmp/sheaf-returned-XXXXXX";
    descriptor_ = mkstemp(name);
    unlink(name);
    std::vector<std::uint8_t> bytes(length);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(i);
    EXPECT_EQ(pwrite(descriptor_, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  ~TestFile() { close(descriptor_); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  static std::uint8_t byte_at(std::uint64_t position) {
    return static_cast<std::uint8_t>(position * 31 + position / 251);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace sheaf::switchboard
