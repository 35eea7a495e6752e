#include "multi_end/own_path.h"

namespace sheaf::quic {

void OwnPath::on_abandoned(PathEntry& entry, Time) {
  if (!entry.abandonment->by_peer) return;
  // The client's connection continues without this backend (docs/internals/multi-end.md).
  connection_.finish({.cause = ConnectionClosed::Cause::kPeerApplication,
                      .error = entry.abandonment->error,
                      .reason = "the path of this backend was abandoned"});
}

}  // namespace sheaf::quic
