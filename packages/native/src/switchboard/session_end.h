#pragma once

#include "switchboard/switchboard.h"
#include "util/time.h"

namespace sheaf::switchboard {

// One node's end of a session with another node, on a connection of the backbone. It is destroyed
// before the HTTP session of that connection.
class SessionEnd {
 public:
  virtual ~SessionEnd() = default;
  // Names the session within its thread.
  virtual Switchboard::SessionNumber number() const = 0;
  // To be called after the HTTP session has seen the events of its connection.
  virtual void on_events(quic::Time now) = 0;
};

}  // namespace sheaf::switchboard
