#include "scheduler/stream/turn_order.h"

namespace sheaf::quic {

void TurnOrder::insert(Set& set, Index index, std::uint64_t key) {
  Index parent = k_none;
  Index* place = &set.top;
  bool first = true;
  while (*place != k_none) {
    parent = *place;
    const bool before = key < links_[parent].key;
    place = before ? &links_[parent].left : &links_[parent].right;
    first = first && before;
  }
  *place = index;
  if (first) set.first = index;
  Link& link = links_[index];
  link = {.key = key, .parent = parent, .rank = random_rank()};
  while (link.parent != k_none && links_[link.parent].rank < link.rank) rotate_up(set, index);
}

void TurnOrder::erase(Set& set, Index index) {
  if (set.first == index) set.first = after(index);
  const Link& link = links_[index];
  while (link.left != k_none && link.right != k_none) {
    rotate_up(set, links_[link.left].rank > links_[link.right].rank ? link.left : link.right);
  }
  replace(set, index, link.left != k_none ? link.left : link.right);
}

void TurnOrder::move(Set& set, Index index, std::uint64_t key) {
  if (set.first == index) {
    const Index second = after(index);
    if (second == k_none || key < links_[second].key) {
      links_[index].key = key;
      return;
    }
  }
  erase(set, index);
  insert(set, index, key);
}

TurnOrder::Index TurnOrder::after(Index index) const {
  if (links_[index].right != k_none) {
    index = links_[index].right;
    while (links_[index].left != k_none) index = links_[index].left;
    return index;
  }
  Index parent = links_[index].parent;
  while (parent != k_none && links_[parent].right == index) {
    index = parent;
    parent = links_[index].parent;
  }
  return parent;
}

TurnOrder::Index TurnOrder::at_least(const Set& set, std::uint64_t key) const {
  Index found = k_none;
  for (Index index = set.top; index != k_none;) {
    if (links_[index].key < key) {
      index = links_[index].right;
    } else {
      found = index;
      index = links_[index].left;
    }
  }
  return found;
}

void TurnOrder::replace(Set& set, Index index, Index by) {
  const Index parent = links_[index].parent;
  if (by != k_none) links_[by].parent = parent;
  if (parent == k_none) {
    set.top = by;
  } else {
    (links_[parent].left == index ? links_[parent].left : links_[parent].right) = by;
  }
}

void TurnOrder::rotate_up(Set& set, Index index) {
  Link& link = links_[index];
  const Index parent = link.parent;
  replace(set, parent, index);
  const bool was_left = links_[parent].left == index;
  Index& inner = was_left ? link.right : link.left;
  (was_left ? links_[parent].left : links_[parent].right) = inner;
  if (inner != k_none) links_[inner].parent = parent;
  inner = parent;
  links_[parent].parent = index;
}

std::uint32_t TurnOrder::random_rank() {
  // xorshift32: a balance is all that depends on it.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

}  // namespace sheaf::quic
