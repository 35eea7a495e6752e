#include "binding/shared_channels.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace sheaf::binding {

namespace {

struct NamedChannels {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<channel_node::SourceNode>> nodes;
};

// Threads may end after the objects with static storage are gone.
NamedChannels& channel_table() {
  static NamedChannels& table = *new NamedChannels;
  return table;
}

}  // namespace

void SharedChannels::add(const std::string& name, std::shared_ptr<channel_node::SourceNode> node) {
  NamedChannels& channels = channel_table();
  const std::lock_guard lock(channels.mutex);
  channels.nodes.insert_or_assign(name, std::move(node));
}

std::shared_ptr<channel_node::SourceNode> SharedChannels::find(const std::string& name) {
  NamedChannels& channels = channel_table();
  const std::lock_guard lock(channels.mutex);
  const auto found = channels.nodes.find(name);
  return found == channels.nodes.end() || found->second->closed() ? nullptr : found->second;
}

void SharedChannels::remove(const std::string& name, const channel_node::SourceNode& node) {
  NamedChannels& channels = channel_table();
  const std::lock_guard lock(channels.mutex);
  const auto found = channels.nodes.find(name);
  if (found != channels.nodes.end() && found->second.get() == &node) channels.nodes.erase(found);
}

}  // namespace sheaf::binding
