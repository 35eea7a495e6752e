#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "util/token_bucket.h"

namespace sheaf::quic {

// Counts of what is limited, by name, for several threads that have it together. Each takes and
// gives back once for a connection, a handshake or a tunnel, and never for a packet.
class SharedCounts {
 public:
  // Another one of `name`, of which there may be `most`
  struct Claim {
    std::string name;
    std::size_t most = 0;
  };

  std::size_t count(const std::string& name) const;
  // Takes one of what may happen so often in a second, and at one moment. Returns false when it is
  // too early. There are few names, which stay.
  bool take_turn(const std::string& name, std::uint64_t per_second, Time now);

 private:
  friend class HeldCounts;
  void give_locked(const std::string& name, std::size_t count);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> counts_;  // none is 0
  std::unordered_map<std::string, TokenBucket> turns_;
};

// What one thread holds. It gives everything back when it is destroyed, as a thread that fails
// does, and before that by `give_all`.
class HeldCounts {
 public:
  explicit HeldCounts(std::shared_ptr<SharedCounts> all) : all_(std::move(all)) {}
  ~HeldCounts() { give_all(); }
  HeldCounts(const HeldCounts&) = delete;
  HeldCounts& operator=(const HeldCounts&) = delete;

  // Takes one of each, or nothing: then it returns the place of the first claim with as many as
  // there may be.
  std::optional<std::size_t> take(std::span<const SharedCounts::Claim> claims);
  // Gives one of `name` back, which this thread took.
  void give(const std::string& name);
  void give_all();
  bool take_turn(const std::string& name, std::uint64_t per_second, Time now) {
    return all_->take_turn(name, per_second, now);
  }
  // Returns how many all threads hold.
  std::size_t count(const std::string& name) const { return all_->count(name); }

 private:
  std::shared_ptr<SharedCounts> all_;
  std::unordered_map<std::string, std::size_t> held_;  // none is 0
};

}  // namespace sheaf::quic
