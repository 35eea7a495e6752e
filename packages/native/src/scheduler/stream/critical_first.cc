#include "scheduler/stream/critical_first.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Returns the bytes that the fastest path delivers before a packet that leaves now on the slower
// one arrives.
double delivered_meanwhile(const PathSnapshot& fastest, const PathSnapshot& slower) {
  const Duration gain = (slower.smoothed_rtt - fastest.smoothed_rtt) / 2 - fastest.until_room;
  if (gain <= Duration{}) return 0;
  const auto round_trip =
      static_cast<double>(std::max<std::int64_t>(fastest.smoothed_rtt.count(), 1));
  return static_cast<double>(fastest.capacity) * static_cast<double>(gain.count()) / round_trip;
}

}  // namespace

void CriticalFirst::set_priority(StreamId stream, const StreamPriority& priority) {
  Dependency place = priority.dependency;
  if (place.node == Dependency::k_root) {
    place.weight = static_cast<std::uint16_t>(32 * (8 - std::min<int>(priority.urgency, 7)));
  }
  set_dependency(stream, place);
  const Index index = tree().find(stream);
  incremental_[index] = place.node == Dependency::k_root && priority.incremental;
  if (node(index).ready()) move(node(index).parent, index, key_of(index));
}

void CriticalFirst::activate(StreamId stream, std::uint64_t remaining) {
  if (tree().find(stream) == k_none) set_priority(stream, {});
  TreeScheduler::activate(stream, remaining);
}

std::optional<StreamId> CriticalFirst::next(const SendOpportunity& opportunity) {
  const auto& paths = opportunity.paths;
  const auto offered = std::ranges::find(paths, opportunity.path, &PathSnapshot::id);
  if (offered == paths.end()) return TreeScheduler::next(opportunity);
  const PathSnapshot& fastest = *std::ranges::min_element(paths, {}, &PathSnapshot::smoothed_rtt);
  if (offered->smoothed_rtt <= fastest.smoothed_rtt) return TreeScheduler::next(opportunity);
  if (!node(DependencyTree::k_root).ready()) return std::nullopt;
  const double left_to_fastest = delivered_meanwhile(fastest, *offered);
  double bytes_before = 0;
  Index stream = k_none;
  Index candidate = candidate_below(DependencyTree::k_root);
  for (int i = 0; i < k_max_candidates && candidate != k_none; ++i) {
    stream = candidate;
    bytes_before += static_cast<double>(node(stream).own_bytes);
    if (bytes_before > left_to_fastest) break;
    candidate = candidate_after(stream);
  }
  return node(stream).stream;
}

void CriticalFirst::on_node(Index node) {
  TreeScheduler::on_node(node);
  if (incremental_.size() <= node) incremental_.resize(node + 1);
  incremental_[node] = false;
}

std::uint64_t CriticalFirst::joining_key(Index, Index child) { return key_of(child); }

void CriticalFirst::charge(Index parent, Index child) {
  // Goes behind its equals.
  if (takes_turns(child)) move(parent, child, key(child));
}

void CriticalFirst::on_bytes(Index parent, Index child) {
  if (key_of(child) != key(child)) move(parent, child, key_of(child));
}

std::uint64_t CriticalFirst::key_of(Index child) const {
  const DependencyTree::Node& its = node(child);
  return weight_and_size_key(its.weight, takes_turns(child) ? UINT64_MAX : its.bytes);
}

bool CriticalFirst::takes_turns(Index child) const {
  return incremental_[child] && node(child).bytes > k_min_bytes_in_turns;
}

}  // namespace sheaf::quic
