#include "scheduler/stream/turn_order.h"

namespace sheaf::quic {

void TurnOrder::insert(Set& set, Index index, std::uint64_t key, Index hint) {
  if (hint == index) hint = k_none;
  links_[index] = {.key = key, .rank = random_rank(), .set = set.name};
  if (set.last == k_none || key >= links_[set.last].key) return append(set, index);
  Index parent = k_none;
  bool behind = false;
  for (Index next = start_of_search(set, key, hint); next != k_none;) {
    parent = next;
    // Avoids a jump on the comparison, which could not be predicted.
    behind = key >= links_[next].key;
    next = links_[next].child[behind];
  }
  links_[parent].child[behind] = index;
  links_[index].parent = parent;
  if (parent == set.first && !behind) set.first = index;
  while (links_[index].parent != k_none && links_[links_[index].parent].rank < links_[index].rank) {
    rotate_up(set, index);
  }
}

TurnOrder::Index TurnOrder::start_of_search(const Set& set, std::uint64_t key, Index hint) const {
  if (hint == k_none || links_[hint].set != set.name || links_[hint].key > key) return set.top;
  // Goes up to the first ancestor behind the key. The search starts at the last ancestor before
  // that.
  Index start = hint;
  for (Index index = hint;;) {
    const Index parent = links_[index].parent;
    if (parent == k_none) return start;
    if (links_[parent].child[0] == index) {
      if (links_[parent].key > key) return start;
      start = parent;
    }
    index = parent;
  }
}

// Appends an index: goes up from the last one, and puts everything with a lower rank below the new
// one. On average this is one step.
void TurnOrder::append(Set& set, Index index) {
  Index below = k_none;
  Index above = set.last;
  while (above != k_none && links_[above].rank < links_[index].rank) {
    below = above;
    above = links_[above].parent;
  }
  links_[index].child[0] = below;
  links_[index].parent = above;
  if (below != k_none) links_[below].parent = index;
  (above == k_none ? set.top : links_[above].child[1]) = index;
  if (set.first == k_none) set.first = index;
  set.last = index;
}

void TurnOrder::erase(Set& set, Index index) {
  if (set.first == index) set.first = neighbour(index, 1);
  if (set.last == index) set.last = neighbour(index, 0);
  const auto& child = links_[index].child;
  while (child[0] != k_none && child[1] != k_none) {
    rotate_up(set, child[links_[child[0]].rank < links_[child[1]].rank]);
  }
  replace(set, index, child[child[0] == k_none]);
  links_[index].set = k_none;
}

void TurnOrder::move(Set& set, Index index, std::uint64_t key, Index hint) {
  const Index before = set.first == index ? k_none : neighbour(index, 0);
  const Index behind = neighbour(index, 1);
  if ((before == k_none || links_[before].key <= key) &&
      (behind == k_none || key < links_[behind].key)) {
    links_[index].key = key;
    return;
  }
  erase(set, index);
  insert(set, index, key, hint);
}

TurnOrder::Index TurnOrder::neighbour(Index index, int side) const {
  if (Index near = links_[index].child[side]; near != k_none) {
    while (links_[near].child[1 - side] != k_none) near = links_[near].child[1 - side];
    return near;
  }
  Index parent = links_[index].parent;
  while (parent != k_none && links_[parent].child[side] == index) {
    index = parent;
    parent = links_[index].parent;
  }
  return parent;
}

TurnOrder::Index TurnOrder::at_least(const Set& set, std::uint64_t key) const {
  Index found = k_none;
  for (Index index = set.top; index != k_none;) {
    const bool behind = links_[index].key < key;
    found = behind ? found : index;
    index = links_[index].child[behind];
  }
  return found;
}

void TurnOrder::replace(Set& set, Index index, Index by) {
  const Index parent = links_[index].parent;
  if (by != k_none) links_[by].parent = parent;
  if (parent == k_none) {
    set.top = by;
  } else {
    links_[parent].child[links_[parent].child[1] == index] = by;
  }
}

void TurnOrder::rotate_up(Set& set, Index index) {
  const Index parent = links_[index].parent;
  const bool side = links_[parent].child[1] == index;
  replace(set, parent, index);
  const Index inner = links_[index].child[!side];
  links_[parent].child[side] = inner;
  if (inner != k_none) links_[inner].parent = parent;
  links_[index].child[!side] = parent;
  links_[parent].parent = index;
}

std::uint32_t TurnOrder::random_rank() {
  // xorshift32, since only the balance of the tree depends on it
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

}  // namespace sheaf::quic
