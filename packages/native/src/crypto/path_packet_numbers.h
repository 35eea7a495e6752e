#pragma once

#include <optional>
#include <vector>

#include "wire/types.h"

namespace sheaf::quic {

// The lowest packet number on each path within a key phase. Bounded: paths beyond the limit have no
// entry.
class PathPacketNumbers {
 public:
  static constexpr std::size_t k_max_paths = 32;

  void add(PathId path, PacketNumber number) {
    for (Entry& entry : entries_) {
      if (entry.path != path) continue;
      if (number < entry.lowest) entry.lowest = number;
      return;
    }
    if (entries_.size() < k_max_paths) entries_.push_back({path, number});
  }
  std::optional<PacketNumber> lowest(PathId path) const {
    for (const Entry& entry : entries_) {
      if (entry.path == path) return entry.lowest;
    }
    return std::nullopt;
  }
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    PathId path;
    PacketNumber lowest;
  };
  std::vector<Entry> entries_;
};

}  // namespace sheaf::quic
