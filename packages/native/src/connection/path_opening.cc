#include "connection/path_opening.h"

#include <utility>

namespace sheaf::quic {

std::optional<PathId> PathOpening::next_unused(std::uint64_t from) const {
  const PathIds& ids = paths_.ids();
  for (std::uint64_t value = ids.next_not_gone(from); value <= ids.common_maximum().value;
       value = ids.next_not_gone(value + 1)) {
    const PathId id{static_cast<std::uint32_t>(value)};
    const PathEntry* entry = paths_.find(id);
    if (value % ids.step() != 0) continue;
    if (!entry || (!entry->path && !entry->abandonment)) return id;
  }
  return std::nullopt;
}

PathEntry* PathOpening::next() {
  for (auto id = next_unused(); id; id = next_unused(std::uint64_t{id->value} + 1)) {
    PathEntry* entry = paths_.find(*id);
    if (entry && entry->remote_ids.has_unused()) return entry;
  }
  return nullptr;
}

bool PathOpening::became_possible() {
  const bool before = std::exchange(possible_, next() != nullptr);
  return possible_ && !before;
}

}  // namespace sheaf::quic
