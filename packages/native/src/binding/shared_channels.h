#pragma once

#include <memory>
#include <string>

#include "channel_node/source_node.h"

namespace sheaf::binding {

// The channels that other threads of the process let receivers join, by name
class SharedChannels {
 public:
  // Replaces another channel of this name.
  static void add(const std::string& name, std::shared_ptr<channel_node::SourceNode> node);
  // Returns null for a name that is not in use, and for a channel that is closed.
  static std::shared_ptr<channel_node::SourceNode> find(const std::string& name);
  // Does nothing when the name is that of another channel.
  static void remove(const std::string& name, const channel_node::SourceNode& node);
};

}  // namespace sheaf::binding
