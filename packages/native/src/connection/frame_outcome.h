#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// Tells the part that sent a frame whether it was acknowledged or lost.
class FrameOutcome final : public SentFrameListener {
 public:
  FrameOutcome(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}
  void on_frame_acknowledged(PathId path, const SentFrame& frame) override;
  void on_frame_lost(PathId path, const SentFrame& frame) override;

 private:
  // Returns the entry of the path that the frame is about.
  PathEntry* entry_of(const SentFrame& frame);

  ConnectionParts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
