#include "multi_end/own_path.h"

namespace sheaf::quic {

void OwnPath::on_abandoned(PathEntry& entry, Time) {
  if (!entry.abandonment->by_peer) return;
  // docs/internals/multi-end.md: the client's connection goes on without this backend.
  parts_.close.finish({.cause = ConnectionClosed::Cause::kPeerApplication,
                       .error = entry.abandonment->error,
                       .reason = "the path of this backend was abandoned"});
}

}  // namespace sheaf::quic
