#include "scheduler/stream/dependency_tree.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Replaces invalid ids. The largest number can be neither a key of a map nor an id on the wire.
Dependency with_valid_ids(Dependency said) {
  if (said.node == UINT64_MAX) said.node = Dependency::k_root;
  if (said.node == Dependency::k_root) return {.weight = said.weight};
  if (said.parent == UINT64_MAX || said.parent == said.node) said.parent = Dependency::k_root;
  return said;
}

}  // namespace

DependencyTree::DependencyTree(Listener& listener) : listener_(listener), nodes_(1) {
  listener_.on_node(k_root);
}

DependencyTree::Index DependencyTree::find(StreamId stream) const {
  const Index* index = by_stream_.find(stream.value);
  return index ? *index : k_none;
}

DependencyTree::Index DependencyTree::find_node(std::uint64_t id) const {
  const Index* index = by_id_.find(id);
  return index ? *index : k_none;
}

// --- what clients say ----------------------------------------------------------------------------

void DependencyTree::set_stream(StreamId stream, const Dependency& dependency) {
  const Dependency said = with_valid_ids(dependency);
  Index index = find(stream);
  if (index == k_none || nodes_[index].id != said.node) {
    const Node was = index == k_none ? Node{} : nodes_[index];
    if (index != k_none) forget(stream);
    if (said.node == Dependency::k_root) {
      settle_on_root(stream);
    } else {
      index = find_node(said.node);
      if (index == k_none) index = create(said.node);
      take_stream_from(index);
      give_stream(index, stream);
    }
    if (was.active) activate(stream, was.own_bytes);
  }
  prioritize(find(stream), said);
}

void DependencyTree::set_group(const Dependency& dependency) {
  const Dependency said = with_valid_ids(dependency);
  if (said.node == Dependency::k_root) return;
  Index index = find_node(said.node);
  if (index == k_none) index = create_group(said.node);
  prioritize(index, said);
}

void DependencyTree::forget(StreamId stream) {
  const Index index = find(stream);
  if (index == k_none) return;
  if (nodes_[index].active) deactivate(index);
  by_stream_.erase(stream.value);
  nodes_[index].has_stream = false;
  remove(index);
}

void DependencyTree::prioritize(Index index, const Dependency& said) {
  if (!nodes_[index].has_stream) {
    remove_group(index);
    add_group(index);  // as the newest
  }
  const Index parent = parent_named_in(said);
  const std::uint16_t weight = std::clamp<std::uint16_t>(said.weight, 1, k_max_weight);
  const bool same = nodes_[index].parent == parent && nodes_[index].weight == weight;
  if (same && !said.exclusive) return;
  // RFC 7540 §5.3.3: its own descendant takes its place first, with its own weight.
  if (is_above(index, parent)) move(parent, nodes_[index].parent);
  unlink(index);
  nodes_[index].weight = weight;
  // A node at the greatest depth has no children, and gets none.
  const bool full = nodes_[parent].depth == k_max_depth;
  link(index, full ? nodes_[parent].parent : parent);
  if (said.exclusive && !full) {
    // It is the first child now.
    while (nodes_[index].next != k_none) {
      const Index sibling = nodes_[index].next;
      shift(sibling, index, nodes_[sibling].weight);
    }
  }
  update_depths(index);
}

DependencyTree::Index DependencyTree::parent_named_in(const Dependency& said) {
  if (said.parent == Dependency::k_root) return k_root;
  const Index known = find_node(said.parent);
  if (known == k_none) return create_group(said.parent);
  if (!nodes_[known].has_stream) {
    remove_group(known);
    add_group(known);
  }
  return known;
}

bool DependencyTree::is_above(Index ancestor, Index index) const {
  while (index != k_none && index != ancestor) index = nodes_[index].parent;
  return index == ancestor;
}

// --- nodes ---------------------------------------------------------------------------------------

DependencyTree::Index DependencyTree::create(std::uint64_t id) {
  Index index = unused_;
  if (index == k_none) {
    index = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    unused_ = nodes_[index].next;
    nodes_[index] = {};
  }
  nodes_[index].id = id;
  if (id != Dependency::k_root) by_id_.insert(id, index);
  listener_.on_node(index);
  link(index, k_root);
  nodes_[index].depth = 1;
  return index;
}

DependencyTree::Index DependencyTree::create_group(std::uint64_t id) {
  if (groups_ == k_max_groups) {
    const Index oldest = oldest_group_;
    remove_group(oldest);
    remove(oldest);
  }
  const Index index = create(id);
  add_group(index);
  return index;
}

void DependencyTree::remove(Index index) {
  const Node gone = nodes_[index];
  std::uint32_t weights = 0;
  for (Index child = gone.first_child; child != k_none; child = nodes_[child].next) {
    weights += nodes_[child].weight;
  }
  while (nodes_[index].first_child != k_none) {
    const Index child = nodes_[index].first_child;
    // RFC 7540 §5.3.4: children share the weight in proportion to their own weights.
    const std::uint32_t share = std::uint32_t{gone.weight} * nodes_[child].weight / weights;
    shift(child, gone.parent, static_cast<std::uint16_t>(std::max(share, 1u)));
    update_depths(child);
  }
  unlink(index);
  if (gone.id != Dependency::k_root) by_id_.erase(gone.id);
  nodes_[index].next = unused_;
  unused_ = index;
}

void DependencyTree::settle_on_root(StreamId stream) {
  const Index index = create(Dependency::k_root);
  nodes_[index].has_stream = true;
  nodes_[index].stream = stream;
  by_stream_.insert(stream.value, index);
}

void DependencyTree::take_stream_from(Index index) {
  if (!nodes_[index].has_stream) return;
  const Node was = nodes_[index];
  if (was.active) deactivate(index);
  nodes_[index].has_stream = false;
  by_stream_.erase(was.stream.value);
  settle_on_root(was.stream);
  if (was.active) activate(was.stream, was.own_bytes);
}

void DependencyTree::give_stream(Index index, StreamId stream) {
  remove_group(index);
  nodes_[index].has_stream = true;
  nodes_[index].stream = stream;
  by_stream_.insert(stream.value, index);
}

void DependencyTree::add_group(Index index) {
  Node& node = nodes_[index];
  node.older = newest_group_;
  node.newer = k_none;
  (newest_group_ == k_none ? oldest_group_ : nodes_[newest_group_].newer) = index;
  newest_group_ = index;
  ++groups_;
}

void DependencyTree::remove_group(Index index) {
  Node& node = nodes_[index];
  if (node.older == k_none && oldest_group_ != index) return;  // is no group
  (node.older == k_none ? oldest_group_ : nodes_[node.older].newer) = node.newer;
  (node.newer == k_none ? newest_group_ : nodes_[node.newer].older) = node.older;
  node.older = node.newer = k_none;
  --groups_;
}

// --- parents and children ------------------------------------------------------------------------

void DependencyTree::link(Index child, Index parent) {
  enter_list(child, parent);
  if (!nodes_[child].ready()) return;
  add_bytes(parent, nodes_[child].bytes);
  become_ready(child);
}

void DependencyTree::unlink(Index child) {
  if (nodes_[child].ready()) {
    become_idle(child);
    add_bytes(nodes_[child].parent, 0 - nodes_[child].bytes);
  }
  leave_list(child);
}

void DependencyTree::enter_list(Index child, Index parent, Index after) {
  Node& node = nodes_[child];
  node.parent = parent;
  node.previous = after;
  Index& place = after == k_none ? nodes_[parent].first_child : nodes_[after].next;
  node.next = place;
  place = child;
  if (node.next != k_none) nodes_[node.next].previous = child;
  listener_.on_linked(child);
}

void DependencyTree::leave_list(Index child) {
  Node& node = nodes_[child];
  Index& place =
      node.previous == k_none ? nodes_[node.parent].first_child : nodes_[node.previous].next;
  place = node.next;
  if (node.next != k_none) nodes_[node.next].previous = node.previous;
  node.parent = k_none;
}

// Moves a child without changes above both parents, so that a hundred ancestors need not be updated
// for each of a thousand children.
void DependencyTree::shift(Index child, Index to, std::uint16_t weight) {
  const Index from = nodes_[child].parent;
  const bool up = nodes_[from].parent == to;
  const bool ready = nodes_[child].ready();
  if (ready) count_out(from, child);
  leave_list(child);
  nodes_[child].weight = weight;
  enter_list(child, to, up ? from : k_none);
  if (!ready) return;
  const Index lower = up ? from : to;
  const Index upper = up ? to : from;
  const bool lower_was_ready = up || nodes_[lower].ready();
  nodes_[lower].bytes += up ? 0 - nodes_[child].bytes : nodes_[child].bytes;
  count_in(to, child);
  if (lower_was_ready && !nodes_[lower].ready()) {
    count_out(upper, lower);
  } else if (!lower_was_ready) {
    count_in(upper, lower);
  } else {
    listener_.on_bytes(upper, lower);
  }
}

void DependencyTree::move(Index child, Index parent) {
  unlink(child);
  link(child, parent);
  update_depths(child);
}

void DependencyTree::update_depths(Index top) {
  const auto depth_now = [this](Index index) {
    return static_cast<std::uint16_t>(nodes_[nodes_[index].parent].depth + 1);
  };
  if (nodes_[top].depth == depth_now(top) && depth_now(top) < k_max_depth &&
      (nodes_[top].first_child == k_none ||
       nodes_[nodes_[top].first_child].depth == nodes_[top].depth + 1)) {
    // The first child is the one that came last: if its depth is right, all are.
    return;
  }
  // Visits in order: a node, its children, then what follows it. Lifted children follow.
  const Index end = nodes_[top].next;
  const Index above = nodes_[top].parent;
  for (Index index = top;;) {
    nodes_[index].depth = depth_now(index);
    if (nodes_[index].depth == k_max_depth) lift_children(index);
    if (nodes_[index].first_child != k_none) {
      index = nodes_[index].first_child;
      continue;
    }
    while (nodes_[index].next == k_none && nodes_[index].parent != above) {
      index = nodes_[index].parent;
    }
    index = nodes_[index].next;
    if (index == end) return;
  }
}

void DependencyTree::lift_children(Index index) {
  while (nodes_[index].first_child != k_none) {
    const Index child = nodes_[index].first_child;
    shift(child, nodes_[index].parent, nodes_[child].weight);
  }
}

// --- what there is to send -----------------------------------------------------------------------

void DependencyTree::activate(StreamId stream, std::uint64_t bytes) {
  if (find(stream) == k_none) settle_on_root(stream);
  const Index index = find(stream);
  const bool was_ready = nodes_[index].ready();
  add_bytes(index, bytes - nodes_[index].own_bytes);
  nodes_[index].own_bytes = bytes;
  nodes_[index].active = true;
  if (!was_ready) become_ready(index);
}

void DependencyTree::deactivate(Index index) {
  if (!nodes_[index].active) return;
  nodes_[index].active = false;
  if (!nodes_[index].ready()) become_idle(index);
  add_bytes(index, 0 - nodes_[index].own_bytes);
  nodes_[index].own_bytes = 0;
}

void DependencyTree::set_bytes(Index index, std::uint64_t bytes) {
  add_bytes(index, bytes - nodes_[index].own_bytes);
  nodes_[index].own_bytes = bytes;
}

// Adds a difference modulo 2^64, which unsigned sums undo.
void DependencyTree::add_bytes(Index index, std::uint64_t difference) {
  if (difference == 0) return;
  for (; index != k_none; index = nodes_[index].parent) {
    const Index parent = nodes_[index].parent;
    nodes_[index].bytes += difference;
    // The root has no siblings, nor does a node on its way to another parent.
    if (parent != k_none && nodes_[index].ready()) listener_.on_bytes(parent, index);
  }
}

void DependencyTree::become_ready(Index child) {
  for (; nodes_[child].parent != k_none; child = nodes_[child].parent) {
    const Index parent = nodes_[child].parent;
    const bool was_ready = nodes_[parent].ready();
    count_in(parent, child);
    if (was_ready) return;
  }
}

void DependencyTree::become_idle(Index child) {
  for (; nodes_[child].parent != k_none; child = nodes_[child].parent) {
    const Index parent = nodes_[child].parent;
    count_out(parent, child);
    if (nodes_[parent].ready()) return;
  }
}

void DependencyTree::count_in(Index parent, Index child) {
  ++nodes_[parent].ready_children;
  nodes_[parent].ready_weight += nodes_[child].weight;
  listener_.on_ready(parent, child);
}

void DependencyTree::count_out(Index parent, Index child) {
  listener_.on_idle(parent, child);
  --nodes_[parent].ready_children;
  nodes_[parent].ready_weight -= nodes_[child].weight;
}

}  // namespace sheaf::quic
