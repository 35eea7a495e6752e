#pragma once

#include <utility>

#include "util/bytes.h"

namespace sheaf::quic {

// Holds bytes that the application lends until they are acknowledged or the stream is reset. They
// are not copied before they are sealed. `release` is called exactly once.
class SendChunk {
 public:
  using Release = void (*)(void* owner);

  SendChunk() = default;
  SendChunk(Bytes bytes, Release release, void* owner)
      : bytes_(bytes), release_(release), owner_(owner) {}
  // Returns a private copy.
  static SendChunk copy_of(Bytes bytes);
  SendChunk(SendChunk&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        release_(std::exchange(other.release_, nullptr)),
        owner_(std::exchange(other.owner_, nullptr)) {}
  SendChunk& operator=(SendChunk&& other) noexcept {
    if (this != &other) {
      reset();
      bytes_ = std::exchange(other.bytes_, {});
      release_ = std::exchange(other.release_, nullptr);
      owner_ = std::exchange(other.owner_, nullptr);
    }
    return *this;
  }
  ~SendChunk() { reset(); }

  Bytes bytes() const { return bytes_; }

 private:
  void reset() {
    if (release_) release_(owner_);
    release_ = nullptr;
  }
  Bytes bytes_;
  Release release_ = nullptr;
  void* owner_ = nullptr;
};

}  // namespace sheaf::quic
