#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace sheaf::quic {

// Counts of what is limited, by name, for several threads that hold it together. Each takes and
// gives back once for a connection, a handshake or a tunnel, and never for a packet.
class SharedCounts {
 public:
  // Another one of `name`, of which there may be `most`
  struct Claim {
    std::string name;
    std::size_t most = 0;
  };

  std::size_t count(const std::string& name) const;

 private:
  friend class HeldCounts;
  void give_locked(const std::string& name, std::size_t count);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> counts_;  // none is 0
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
  // Returns how many all threads hold.
  std::size_t count(const std::string& name) const { return all_->count(name); }

 private:
  std::shared_ptr<SharedCounts> all_;
  std::unordered_map<std::string, std::size_t> held_;  // none is 0
};

}  // namespace sheaf::quic
