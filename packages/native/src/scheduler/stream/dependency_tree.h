#pragma once

#include <vector>

#include "scheduler/stream/stream_priority.h"
#include "util/flat_map.h"
#include "wire/types.h"

namespace sheaf::quic {

// The dependency tree of RFC 7540 §5.3, which clients describe in any order and with any mistake:
// - A parent that no frame has described yet is a group below the root, with the default weight.
// - A node that depends on itself depends on the root. A node that comes to depend on its own
//   descendant first moves that descendant up to its own former parent (§5.3.3), so there are no
//   cycles.
// - Weights below 1 count as 1, and above 256 as 256.
// - A node named by two streams belongs to the later one. The other one is on the root, as are
//   streams that name no node, with the weight that they ask for.
// - Of nodes without a stream, `k_max_groups` are kept: those named last. When a node is removed,
//   or a stream ends, the children move to its parent and share its weight (§5.3.4).
// - No node is deeper than `k_max_depth`. A deeper one becomes a child of its ancestor at
//   `k_max_depth` - 1.
//
// The tree tracks which subtrees have something to send, so that the way down to a stream is found
// without a search. Nodes are indices of one array, and their number follows that of the streams.
class DependencyTree {
 public:
  using Index = std::uint32_t;
  static constexpr Index k_none = UINT32_MAX;
  static constexpr Index k_root = 0;
  static constexpr std::size_t k_max_groups = 256;
  static constexpr std::uint16_t k_max_depth = 100;
  static constexpr std::uint16_t k_max_weight = 256;

  struct Node {
    std::uint64_t id = Dependency::k_root;  // Dependency::k_root: it has none
    StreamId stream{};
    bool has_stream = false;
    bool active = false;  // its own stream has something to send
    std::uint16_t weight = Dependency{}.weight;
    std::uint16_t depth = 0;
    Index parent = k_none;
    Index first_child = k_none;
    Index previous = k_none;  // among the parent's children;
    Index next = k_none;      // of an unused node: the next unused one
    Index older = k_none;     // among the groups
    Index newer = k_none;
    std::uint32_t ready_children = 0;
    std::uint32_t ready_weight = 0;  // sum of their weights
    std::uint64_t own_bytes = 0;     // left to send, while the stream is active
    std::uint64_t bytes = 0;         // including those of the subtree
    // Whether a stream of the subtree has something to send
    bool ready() const { return active || ready_children > 0; }
  };

  // Informs a scheduler, so that it can keep the children in its order.
  class Listener {
   public:
    virtual ~Listener() = default;
    // The index denotes a new node.
    virtual void on_node(Index node) = 0;
    // The node has a new parent or weight, and is not ready there yet.
    virtual void on_linked(Index node) = 0;
    virtual void on_ready(Index parent, Index child) = 0;
    virtual void on_idle(Index parent, Index child) = 0;
    // `bytes` of a ready node changed.
    virtual void on_bytes(Index parent, Index child) = 0;
  };

  // The listener must outlive the tree.
  explicit DependencyTree(Listener& listener);

  const Node& node(Index index) const { return nodes_[index]; }
  // Returns k_none for an unknown stream.
  Index find(StreamId stream) const;
  Index find_node(std::uint64_t id) const;
  std::size_t groups() const { return groups_; }
  // Number of nodes in memory, used or not, including the root
  std::size_t size() const { return nodes_.size(); }

  // Sets the place that the client gave to the stream.
  void set_stream(StreamId stream, const Dependency& dependency);
  // Sets the place of a node without a stream, or whose stream is not known here.
  void set_group(const Dependency& dependency);
  void forget(StreamId stream);

  void activate(StreamId stream, std::uint64_t bytes);
  void deactivate(Index index);
  // Sets the bytes of an active node.
  void set_bytes(Index index, std::uint64_t bytes);

 private:
  Index create(std::uint64_t id);
  Index create_group(std::uint64_t id);
  void remove(Index index);
  // Creates a node for the stream below the root.
  void settle_on_root(StreamId stream);
  void take_stream_from(Index index);
  void give_stream(Index index, StreamId stream);
  void prioritize(Index index, const Dependency& said);
  Index parent_named_in(const Dependency& said);
  bool is_above(Index ancestor, Index index) const;

  void link(Index child, Index parent);
  void unlink(Index child);
  void move(Index child, Index parent);
  // Moves a child from a parent to the parent's own parent, or to another child of the parent.
  void shift(Index child, Index to, std::uint16_t weight);
  void enter_list(Index child, Index parent, Index after = k_none);
  void leave_list(Index child);
  void update_depths(Index top);
  void lift_children(Index index);

  // Adds or removes the subtree's share in its ancestors.
  void become_ready(Index child);
  void become_idle(Index child);
  void count_in(Index parent, Index child);
  void count_out(Index parent, Index child);
  void add_bytes(Index index, std::uint64_t difference);

  void add_group(Index index);
  void remove_group(Index index);

  Listener& listener_;
  std::vector<Node> nodes_;
  Index unused_ = k_none;
  FlatMap<Index> by_id_;
  FlatMap<Index> by_stream_;
  std::size_t groups_ = 0;
  Index oldest_group_ = k_none;
  Index newest_group_ = k_none;
};

}  // namespace sheaf::quic
