#include "connection/path_frames.h"

#include "recovery/write_frame.h"

namespace sheaf::quic {

namespace {

using Kind = SentFrame::Kind;

}  // namespace

void PathFrames::write(Writer& writer, SentPackets& sent) {
  write_limits(writer, sent);
  // Writes the ids of new paths first: some peers need them early to open their second path.
  for (const auto& entry : paths_.entries()) {
    if (entry->id != PathId{0} && entry->frames_due() && !entry->on_own_path()) {
      write_entry(*entry, writer, sent);
    }
  }
  PathEntry* first = paths_.find(PathId{0});
  if (first && first->frames_due()) write_entry(*first, writer, sent);
}

void PathFrames::write_limits(Writer& writer, SentPackets& sent) {
  const PathId maximum = paths_.ids().local_maximum();
  if (paths_.ids().maximum_due() &&
      write_frame(writer, sent, MaxPathIdFrame{maximum},
                  SentFrame::for_limit(Kind::kMaxPathId, maximum.value))) {
    paths_.ids().set_maximum_due(false);
  }
  const PathId limit = paths_.ids().peer_maximum();
  if (paths_.ids().blocked_due() &&
      write_frame(writer, sent, PathsBlockedFrame{limit},
                  SentFrame::for_limit(Kind::kPathsBlocked, limit.value))) {
    paths_.ids().set_blocked_due(false);
  }
}

void PathFrames::write_entry(PathEntry& entry, Writer& writer, SentPackets& sent) {
  if (entry.abandonment) {
    const Frame frame = policy_ ? policy_->abandonment_frame(entry)
                                : Frame{PathAbandonFrame{entry.id, entry.abandonment->error}};
    if (write_frame(writer, sent, frame, SentFrame::for_path(Kind::kPathAbandon, entry.id))) {
      entry.abandonment->frame_due = false;
    }
    return;
  }
  write_new_ids(entry, writer, sent);
  write_retirements(entry, writer, sent);
  PathPreference& own = entry.own_preference;
  if (own.frame_due &&
      write_frame(writer, sent, PathStatusFrame{entry.id, *own.sequence, own.status},
                  SentFrame::for_path(Kind::kPathStatus, entry.id, *own.sequence))) {
    own.frame_due = false;
  }
  if (entry.cids_blocked_due &&
      write_frame(writer, sent, PathCidsBlockedFrame{entry.id, entry.remote_ids.next_sequence()},
                  SentFrame::for_path(Kind::kPathCidsBlocked, entry.id))) {
    entry.cids_blocked_due = false;
  }
}

void PathFrames::write_new_ids(PathEntry& entry, Writer& writer, SentPackets& sent) {
  while (const auto issued = entry.local_ids.next_pending()) {
    const Frame frame = paths_.ids().enabled() ? Frame{PathNewConnectionIdFrame{entry.id, *issued}}
                                               : Frame{*issued};
    if (!write_frame(writer, sent, frame,
                     SentFrame::for_path(Kind::kNewConnectionId, entry.id, issued->sequence))) {
      return;
    }
    entry.local_ids.sent();
  }
}

void PathFrames::write_retirements(PathEntry& entry, Writer& writer, SentPackets& sent) {
  while (entry.remote_ids.has_retirements()) {
    const std::uint64_t sequence = entry.remote_ids.next_retirement();
    const Frame frame = paths_.ids().enabled()
                            ? Frame{PathRetireConnectionIdFrame{entry.id, sequence}}
                            : Frame{RetireConnectionIdFrame{sequence}};
    if (!write_frame(writer, sent, frame,
                     SentFrame::for_path(Kind::kRetireConnectionId, entry.id, sequence))) {
      return;
    }
    entry.remote_ids.retirement_sent();
  }
}

}  // namespace sheaf::quic
