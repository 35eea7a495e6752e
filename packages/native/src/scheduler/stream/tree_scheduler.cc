#include "scheduler/stream/tree_scheduler.h"

namespace sheaf::quic {

TreeScheduler::TreeScheduler() : tree_(*this) {}

void TreeScheduler::set_priority(StreamId stream, const StreamPriority& priority) {
  set_dependency(stream, priority.dependency);
}

void TreeScheduler::set_dependency(StreamId stream, const Dependency& dependency) {
  tree_.set_stream(stream, dependency);
}

void TreeScheduler::set_group(const Dependency& group) { tree_.set_group(group); }

void TreeScheduler::forget(StreamId stream) { tree_.forget(stream); }

void TreeScheduler::activate(StreamId stream, std::uint64_t remaining) {
  tree_.activate(stream, remaining);
}

void TreeScheduler::deactivate(StreamId stream) {
  const Index index = tree_.find(stream);
  if (index != k_none) tree_.deactivate(index);
}

std::optional<StreamId> TreeScheduler::next(const SendOpportunity&) {
  Index index = DependencyTree::k_root;
  if (!node(index).ready()) return std::nullopt;
  while (!node(index).active) index = choose(index);
  return node(index).stream;
}

void TreeScheduler::on_sent(StreamId stream, const SentData& sent, const SendOpportunity&) {
  const Index index = tree_.find(stream);
  if (index == k_none || !node(index).active) return;
  for (Index child = index; child != DependencyTree::k_root; child = node(child).parent) {
    // A child without ready siblings shares with nobody, and owes nothing to those who come later.
    const Index parent = node(child).parent;
    if (node(parent).ready_children > 1) charge(parent, child);
  }
  tree_.set_bytes(index, sent.remaining);
}

void TreeScheduler::on_node(Index node) {
  order_.reserve(node + 1);
  if (ready_.size() <= node) ready_.resize(node + 1);
  ready_[node] = {.name = node};
}

void TreeScheduler::on_ready(Index parent, Index child) {
  order_.insert(ready_[parent], child, joining_key(parent, child));
}

void TreeScheduler::on_idle(Index parent, Index child) {
  on_leaving(parent, child);
  order_.erase(ready_[parent], child);
}

TreeScheduler::Index TreeScheduler::candidate_below(Index index) const {
  while (!node(index).active) index = first(index);
  return index;
}

TreeScheduler::Index TreeScheduler::candidate_after(Index stream) const {
  for (Index child = stream; child != DependencyTree::k_root; child = node(child).parent) {
    const Index sibling = after(child);
    if (sibling != k_none) return candidate_below(sibling);
  }
  return k_none;
}

}  // namespace sheaf::quic
