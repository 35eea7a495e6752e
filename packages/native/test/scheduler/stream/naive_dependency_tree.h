#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "scheduler/stream/dependency_tree.h"

namespace sheaf::quic {

// Implements what dependency_tree.h promises, without regard to cost. A node is named by its id;
// one without a stream has a number of its own above all ids.
class NaiveDependencyTree {
 public:
  struct Node {
    std::uint64_t parent = 0;
    std::uint32_t weight = 16;
    bool has_stream = false;
    std::uint64_t stream = 0;
    bool active = false;
    std::uint64_t own_bytes = 0;
  };
  std::map<std::uint64_t, Node> nodes;
  std::list<std::uint64_t> groups;  // the one named last at the end

  static std::uint64_t anonymous(std::uint64_t stream) { return (std::uint64_t{1} << 62) + stream; }

  std::uint64_t name_of(std::uint64_t stream) const {
    for (const auto& [name, node] : nodes) {
      if (node.has_stream && node.stream == stream) return name;
    }
    return 0;
  }
  void set_stream(std::uint64_t stream, const Dependency& said) {
    const std::uint64_t wanted = said.node == 0 ? anonymous(stream) : said.node;
    const std::uint64_t had = name_of(stream);
    const Node was = had == 0 ? Node{} : nodes[had];
    if (had != wanted) {
      if (had != 0) remove(had);
      if (nodes.contains(wanted) && nodes[wanted].has_stream) {
        // The other stream loses the node.
        Node& node = nodes[wanted];
        Node& other = nodes[anonymous(node.stream)];
        other = node;
        other.parent = 0;
        other.weight = 16;
      }
      groups.remove(wanted);
      Node& node = nodes[wanted];
      node.has_stream = true;
      node.stream = stream;
      node.active = was.active;
      node.own_bytes = was.own_bytes;
    }
    if (said.node != 0) return prioritize(said);
    nodes[wanted].parent = 0;
    nodes[wanted].weight = std::clamp<std::uint32_t>(said.weight, 1, DependencyTree::k_max_weight);
  }
  void set_group(const Dependency& said) {
    if (said.node == 0) return;
    if (!nodes.contains(said.node)) add_group(said.node);
    prioritize(said);
  }
  void forget(std::uint64_t stream) {
    if (const std::uint64_t name = name_of(stream)) remove(name);
  }
  void activate(std::uint64_t stream, std::uint64_t bytes) {
    std::uint64_t name = name_of(stream);
    if (name == 0) {
      name = anonymous(stream);
      nodes[name] = {.has_stream = true, .stream = stream};
    }
    nodes[name].active = true;
    nodes[name].own_bytes = bytes;
  }
  void deactivate(std::uint64_t stream) {
    const std::uint64_t name = name_of(stream);
    if (name == 0) return;
    nodes[name].active = false;
    nodes[name].own_bytes = 0;
  }
  std::vector<std::uint64_t> children(std::uint64_t parent) const {
    std::vector<std::uint64_t> found;
    for (const auto& [name, node] : nodes) {
      if (node.parent == parent) found.push_back(name);
    }
    return found;
  }
  bool ready(std::uint64_t name) const {
    if (nodes.at(name).active) return true;
    return std::ranges::any_of(children(name), [this](auto child) { return ready(child); });
  }
  std::uint64_t bytes(std::uint64_t name) const {
    std::uint64_t sum = nodes.at(name).own_bytes;
    for (std::uint64_t child : children(name)) sum += bytes(child);
    return sum;
  }
  // Returns the nodes from the root, which is 0, to the node.
  std::vector<std::uint64_t> way_to(std::uint64_t name) const {
    std::vector<std::uint64_t> way{name};
    while (way.back() != 0) way.push_back(nodes.at(way.back()).parent);
    return {way.rbegin(), way.rend()};
  }

 private:
  void add_group(std::uint64_t name) {
    if (groups.size() == DependencyTree::k_max_groups) {
      const std::uint64_t oldest = groups.front();
      remove(oldest);
    }
    nodes[name] = {};
    groups.push_back(name);
  }
  void remove(std::uint64_t name) {
    const Node gone = nodes[name];
    std::uint32_t sum = 0;
    for (std::uint64_t child : children(name)) sum += nodes[child].weight;
    for (std::uint64_t child : children(name)) {
      nodes[child].weight = std::max(gone.weight * nodes[child].weight / sum, 1u);
      nodes[child].parent = gone.parent;
    }
    nodes.erase(name);
    groups.remove(name);
  }
  void touch(std::uint64_t name) {
    if (nodes[name].has_stream) return;
    groups.remove(name);
    groups.push_back(name);
  }
  void prioritize(const Dependency& said) {
    touch(said.node);
    std::uint64_t parent = said.parent == said.node ? 0 : said.parent;
    if (parent != 0) {
      if (!nodes.contains(parent)) add_group(parent);
      touch(parent);
      const auto way = way_to(parent);
      if (std::ranges::find(way, said.node) != way.end()) {
        nodes[parent].parent = nodes[said.node].parent;
      }
    }
    if (said.exclusive) {
      for (std::uint64_t child : children(parent)) {
        if (child != said.node) nodes[child].parent = said.node;
      }
    }
    nodes[said.node].parent = parent;
    nodes[said.node].weight = std::clamp<std::uint32_t>(said.weight, 1, 256);
    flatten();
  }
  // A node that is too deep becomes a child of its ancestor at the maximum depth.
  void flatten() {
    std::map<std::uint64_t, std::uint64_t> moved;
    for (const auto& [name, node] : nodes) {
      const auto way = way_to(name);
      if (way.size() - 1 > DependencyTree::k_max_depth) {
        moved[name] = way[DependencyTree::k_max_depth - 1];
      }
    }
    for (const auto& [name, parent] : moved) nodes[name].parent = parent;
  }
};

}  // namespace sheaf::quic
