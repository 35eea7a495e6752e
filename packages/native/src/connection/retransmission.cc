#include "connection/retransmission.h"

#include <algorithm>

#include "connection/frame_outcome.h"

namespace sheaf::quic {

namespace {

// Reports the frames that another path may take over. Data of pinned streams stays on its path, and
// data of other nodes with the one path that they send on.
class TakenOver final : public SentFrameListener {
 public:
  TakenOver(ConnectionParts& parts, Time now) : parts_(parts), outcome_(parts, now) {}
  void on_frame_acknowledged(PathId path, const SentFrame& frame) override {
    outcome_.on_frame_acknowledged(path, frame);
  }
  void on_frame_lost(PathId path, const SentFrame& frame) override {
    if (frame.kind() == SentFrame::Kind::kStream &&
        (parts_.streams.pinned().contains(frame.stream()) ||
         parts_.streams.remote().contains(frame.stream()))) {
      return;
    }
    outcome_.on_frame_lost(path, frame);
  }

 private:
  ConnectionParts& parts_;
  FrameOutcome outcome_;
};

}  // namespace

void Retransmission::on_timeout(PathEntry& entry) {
  Path& path = *entry.path;
  FrameOutcome outcome(parts_, now_);
  const auto action = path.loss.on_timeout(parts_.timer_terms(entry), now_, outcome);
  if (action == LossDetection::TimeoutAction::kNone) return;
  if (action == LossDetection::TimeoutAction::kProbe) {
    // RFC 9002 §6.2.4: sends two packets, with data where there is some.
    path.probe_credits = 2;
    if (path.loss.probe_count() == 1) entry.silent_since = now_;
    path.ping_due = true;
    if (another_path_works(entry)) {
      // RFC 10069 §5.6: data that may be lost here does not wait for this path. That is at most one
      // window, and once for each packet.
      TakenOver taken_over(parts_, now_);
      path.loss.mark_outstanding_for_probe(taken_over);
    } else {
      path.loss.mark_oldest_for_probe(outcome);
    }
  }
  path.update_pacing(now_);
}

void Retransmission::repeat_late_on(PathEntry& fast) {
  const Path& path = *fast.path;
  const bool has_room = path.send_allowance(now_) >= path.mtu.current();
  if (fast.suspect() || path.validation.pending() || !has_room) return;
  std::uint64_t sent = 0;
  for (PathEntry* entry : parts_.paths.in_use()) {
    sent += entry->path->bytes_sent;
  }
  TakenOver taken_over(parts_, now_);
  for (PathEntry* entry : parts_.paths.in_use()) {
    const std::uint64_t left = parts_.repeats.left(sent);
    if (entry == &fast || !entry->open() || entry->rules.apart || left == 0) continue;
    const Duration gain = entry->path->rtt.smoothed() - path.rtt.smoothed();
    if (gain <= Duration::zero()) continue;
    // The acknowledgement of a packet sent after this moment comes later than that of a packet sent
    // now.
    parts_.repeats.spend(entry->path->loss.mark_late_for_probe(now_ - gain, left, taken_over));
  }
}

bool Retransmission::another_path_works(const PathEntry& entry) const {
  if (entry.rules.apart) return false;
  return std::ranges::any_of(parts_.paths.in_use(), [&](const auto& other) {
    return other != &entry && other->usable() && !other->rules.apart && !other->suspect() &&
           !other->path->validation.pending();
  });
}

}  // namespace sheaf::quic
