#pragma once

#include <memory>

#include "direct_return/payload_source.h"
#include "switchboard/shared_files.h"

namespace sheaf::switchboard {

// Bytes of a file, read anew each time that they are sent. A file that was changed, became shorter
// or cannot be read is broken, which ends the response: the bytes at an offset must not change
// (RFC 9000 §2.2).
class FilePayload final : public quic::PayloadSource {
 public:
  // `start` is the offset in the stream of the first byte, and `position` its place in the file.
  FilePayload(std::uint64_t start, std::shared_ptr<SharedFile> file, std::uint64_t position,
              std::uint64_t length)
      : start_(start), position_(position), length_(length), file_(std::move(file)) {}

  std::uint64_t available() const override { return start_ + length_; }
  [[nodiscard]] quic::PayloadRead read(std::uint64_t offset, quic::MutableBytes out) override;
  void release(std::uint64_t) override {}

 private:
  std::uint64_t start_;
  std::uint64_t position_;
  std::uint64_t length_;
  std::shared_ptr<SharedFile> file_;
};

}  // namespace sheaf::switchboard
