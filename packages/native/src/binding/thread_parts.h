#pragma once

#include <memory>

#include "switchboard/switchboard.h"

namespace sheaf::binding {

// What the objects of one environment (the process or a worker thread) share. They outlive each
// other in any order when it ends.
struct ThreadParts {
  std::shared_ptr<switchboard::Switchboard> switchboard =
      std::make_shared<switchboard::Switchboard>();
};

}  // namespace sheaf::binding
