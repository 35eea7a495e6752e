#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// Hands the fate of each sent frame to the part that sent it.
class FrameOutcome final : public SentFrameListener {
 public:
  FrameOutcome(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}
  void on_frame_acknowledged(PathId path, const SentFrame& frame) override;
  void on_frame_lost(PathId path, const SentFrame& frame) override;

 private:
  // Of the path that a frame speaks about.
  PathEntry* entry_of(const SentFrame& frame);

  ConnectionParts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
