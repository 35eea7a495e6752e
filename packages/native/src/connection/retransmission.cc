#include "connection/retransmission.h"

#include <algorithm>

#include "connection/frame_outcome.h"

namespace sheaf::quic {

void Retransmission::on_timeout(PathEntry& entry) {
  Path& path = *entry.path;
  FrameOutcome outcome(parts_, now_);
  const auto action = path.loss.on_timeout(parts_.timer_terms(path), now_, outcome);
  if (action == LossDetection::TimeoutAction::kNone) return;
  if (action == LossDetection::TimeoutAction::kProbe) {
    // RFC 9002 §6.2.4: two packets, with data where there is some.
    path.probe_credits = 2;
    path.ping_due = true;
    if (another_path_works(entry)) {
      // RFC 10069 §5.6: what may be lost here does not wait for this path. It is one window at
      // most, and once for each packet.
      path.loss.mark_outstanding_for_probe(outcome);
    } else {
      path.loss.mark_oldest_for_probe(outcome);
    }
  }
  path.update_pacing(now_);
}

bool Retransmission::another_path_works(const PathEntry& entry) const {
  return std::ranges::any_of(parts_.paths.entries(), [&](const auto& other) {
    return other.get() != &entry && other->usable() && !other->suspect() &&
           other->path->validation.state() != PathValidation::State::kPending;
  });
}

}  // namespace sheaf::quic
