#pragma once

#include <optional>

#include "connection/path_table.h"

namespace sheaf::quic {

// Client: chooses the id of the next path that it opens (RFC 10069 §3.2.1).
class PathOpening {
 public:
  explicit PathOpening(PathTable& paths) : paths_(paths) {}

  // Returns the lowest id from this one on that nobody has used; nothing when the limits allow
  // none.
  std::optional<PathId> next_unused(std::uint64_t from = 0) const;
  // Returns the lowest unused one for which the peer gave connection ids; null when there is none.
  PathEntry* next();
  // True once each time that opening a path becomes possible.
  bool became_possible();

 private:
  PathTable& paths_;
  bool possible_ = false;  // as of the last `became_possible`
};

}  // namespace sheaf::quic
