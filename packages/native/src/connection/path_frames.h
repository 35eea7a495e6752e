#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// Writes the frames of path management: connection ids, retirements, preferences, limits and
// abandoned paths (RFC 10069 §4; RFC 9000 §19.15 and §19.16 without multipath).
class PathFrames {
 public:
  explicit PathFrames(ConnectionParts& parts) : paths_(parts.paths), policy_(parts.policy.get()) {}
  // Writes as many as fit.
  void write(Writer& writer, SentPackets& sent);
  // Writes the frames about a path apart, on this path.
  void write_own(PathEntry& entry, Writer& writer, SentPackets& sent) {
    write_entry(entry, writer, sent);
  }

 private:
  void write_limits(Writer& writer, SentPackets& sent);
  void write_entry(PathEntry& entry, Writer& writer, SentPackets& sent);
  void write_new_ids(PathEntry& entry, Writer& writer, SentPackets& sent);
  void write_retirements(PathEntry& entry, Writer& writer, SentPackets& sent);

  PathTable& paths_;
  const PathPolicy* policy_;  // null: none
};

}  // namespace sheaf::quic
