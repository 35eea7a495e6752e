#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::quic {

// Sets of indices, each sorted by key, with equal keys in order of insertion. It is a treap:
// insertion is O(log n), and the first index is at hand and cheap to remove. An index is in one set
// at a time, so all sets share one array, and nothing is allocated once that is large enough.
class TurnOrder {
 public:
  using Index = std::uint32_t;
  static constexpr Index k_none = UINT32_MAX;

  struct Set {
    Index name = 0;  // unique
    Index top = k_none;
    Index first = k_none;
    Index last = k_none;
  };

  // Allows indices below `count`.
  void reserve(std::size_t count) {
    if (links_.size() < count) links_.resize(count);
  }
  // Inserts an index. A `hint` shortly before its place in the set makes this O(1); any other hint
  // does no harm.
  void insert(Set& set, Index index, std::uint64_t key, Index hint = k_none);
  void erase(Set& set, Index index);
  // Moves an index to where the key belongs, behind its equals.
  void move(Set& set, Index index, std::uint64_t key, Index hint = k_none);
  std::uint64_t key(Index index) const { return links_[index].key; }
  // Returns the index behind it in its set.
  Index after(Index index) const { return neighbour(index, 1); }
  // Returns the first index whose key is at least `key`.
  Index at_least(const Set& set, std::uint64_t key) const;

 private:
  struct Link {
    std::uint64_t key = 0;
    Index child[2] = {k_none, k_none};  // before and behind it
    Index parent = k_none;
    std::uint32_t rank = 0;  // random; a parent's is not below its children's
    Index set = k_none;      // name of its set
  };

  void append(Set& set, Index index);
  // Returns where to start the search: only what is below can come just before the key.
  Index start_of_search(const Set& set, std::uint64_t key, Index hint) const;
  // Puts `by` into the place of `index` below its parent.
  void replace(Set& set, Index index, Index by);
  void rotate_up(Set& set, Index index);
  Index neighbour(Index index, int side) const;
  std::uint32_t random_rank();

  std::vector<Link> links_;
  std::uint32_t random_ = 0x9e3779b9u;
};

}  // namespace sheaf::quic
