#pragma once

#include "direct_return/payload_source.h"

namespace sheaf::switchboard {

// Bytes of a file, read anew each time that they are sent. The file must not change meanwhile. One
// that became shorter, or cannot be read, is broken, which ends the response.
class FilePayload final : public quic::PayloadSource {
 public:
  // `start` is the offset in the stream of the first byte, and `position` its place in the file.
  // Duplicates `descriptor`, which stays the caller's.
  FilePayload(std::uint64_t start, int descriptor, std::uint64_t position, std::uint64_t length);
  ~FilePayload() override;
  FilePayload(const FilePayload&) = delete;
  FilePayload& operator=(const FilePayload&) = delete;

  bool usable() const { return descriptor_ >= 0; }
  std::uint64_t available() const override { return start_ + length_; }
  [[nodiscard]] quic::PayloadRead read(std::uint64_t offset, quic::MutableBytes out) override;
  void release(std::uint64_t) override {}

 private:
  std::uint64_t start_;
  std::uint64_t position_;
  std::uint64_t length_;
  int descriptor_;
};

}  // namespace sheaf::switchboard
