#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::quic {

// Sets of indices, each set in order of keys, equal keys in order of insertion. A treap: O(log n)
// to insert, the first one at hand and cheap to take out. An index is in one set at a time, so all
// sets share one array, and nothing is allocated once that is large enough.
class TurnOrder {
 public:
  using Index = std::uint32_t;
  static constexpr Index k_none = UINT32_MAX;

  struct Set {
    Index name = 0;  // of no other set
    Index top = k_none;
    Index first = k_none;
    Index last = k_none;
  };

  // Indices below `count` may be used from now on.
  void reserve(std::size_t count) {
    if (links_.size() < count) links_.resize(count);
  }
  // A `hint` that comes shortly before the index in the set makes this O(1); any other does no
  // harm.
  void insert(Set& set, Index index, std::uint64_t key, Index hint = k_none);
  void erase(Set& set, Index index);
  // To where the key belongs, behind its equals.
  void move(Set& set, Index index, std::uint64_t key, Index hint = k_none);
  std::uint64_t key(Index index) const { return links_[index].key; }
  // The one behind it in its set.
  Index after(Index index) const { return neighbour(index, 1); }
  // The first whose key is `key` or more.
  Index at_least(const Set& set, std::uint64_t key) const;

 private:
  struct Link {
    std::uint64_t key = 0;
    Index child[2] = {k_none, k_none};  // before and behind it
    Index parent = k_none;
    std::uint32_t rank = 0;  // at random; a parent's is not below its children's
    Index set = k_none;      // name of the one it is in
  };

  void append(Set& set, Index index);
  // From where to go down for the key: only what is below it can come just before the key.
  Index start_of_search(const Set& set, std::uint64_t key, Index hint) const;
  // Into the place of `index` below its parent.
  void replace(Set& set, Index index, Index by);
  void rotate_up(Set& set, Index index);
  Index neighbour(Index index, int side) const;
  std::uint32_t random_rank();

  std::vector<Link> links_;
  std::uint32_t random_ = 0x9e3779b9u;
};

}  // namespace sheaf::quic
