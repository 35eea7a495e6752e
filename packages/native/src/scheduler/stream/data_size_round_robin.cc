#include "scheduler/stream/data_size_round_robin.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Returns the key of the group's smallest possible child.
std::uint64_t group_key(std::uint16_t weight) { return weight_and_size_key(weight, 0); }

std::uint64_t key_of(const DependencyTree::Node& node) {
  return weight_and_size_key(node.weight, node.bytes);
}

}  // namespace

std::uint64_t DataSizeRoundRobin::joining_key(Index parent, Index child) {
  const std::uint16_t weight = node(child).weight;
  if (first_of(parent, weight) == k_none) round(parent).sum += weight;
  round(parent).chosen = k_none;
  return key_of(node(child));
}

void DataSizeRoundRobin::on_leaving(Index parent, Index child) {
  const std::uint16_t weight = node(child).weight;
  const Index behind = after(child);
  const bool last =
      first_of(parent, weight) == child && (behind == k_none || node(behind).weight != weight);
  if (last) round(parent).sum -= weight;
  round(parent).chosen = k_none;
}

DataSizeRoundRobin::Index DataSizeRoundRobin::choose(Index parent) {
  SizeRound& now = round(parent);
  if (now.chosen != k_none) return now.chosen;
  if (now.left > 0) now.chosen = first_of(parent, now.weight);
  if (now.chosen == k_none) {
    // Takes the next lower group. Below the last one, a new round begins with the highest.
    const Index lower =
        now.weight > 0 ? at_least(parent, group_key(now.weight - 1)) : first(parent);
    start_turn(parent, lower == k_none ? first(parent) : lower);
  }
  return now.chosen;
}

void DataSizeRoundRobin::start_turn(Index parent, Index child) {
  SizeRound& now = round(parent);
  const std::uint32_t weight = node(child).weight;
  // §3.3: p = min(1, priority / sum of priorities), rounded to packets
  const std::uint32_t packets = (2 * k_round_packets * weight + now.sum) / (2 * now.sum);
  now.chosen = child;
  now.weight = node(child).weight;
  now.left = std::max(packets, 1u);
}

void DataSizeRoundRobin::charge(Index parent, Index child) {
  SizeRound& now = round(parent);
  if (node(child).weight != now.weight || now.left == 0) return;
  if (--now.left == 0) now.chosen = k_none;
}

void DataSizeRoundRobin::on_bytes(Index parent, Index child) {
  const std::uint64_t its_key = key_of(node(child));
  if (its_key == key(child)) return;
  const bool stays_first = round(parent).chosen == child && its_key < key(child);
  move(parent, child, its_key);
  if (!stays_first) round(parent).chosen = k_none;
}

DataSizeRoundRobin::Index DataSizeRoundRobin::first_of(Index parent, std::uint16_t weight) const {
  const Index child = at_least(parent, group_key(weight));
  return child != k_none && node(child).weight == weight ? child : k_none;
}

}  // namespace sheaf::quic
