#include "scheduler/stream/stream_aware_ecf.h"

#include <algorithm>

namespace sheaf::quic {

std::optional<StreamId> StreamAwareEcf::next(const SendOpportunity& opportunity) {
  const auto& paths = opportunity.paths;
  const auto offered = std::ranges::find(paths, opportunity.path, &PathSnapshot::id);
  if (offered == paths.end()) return WeightedRoundRobin::next(opportunity);
  const PathSnapshot& best = *std::ranges::min_element(paths, {}, &PathSnapshot::smoothed_rtt);
  if (offered->smoothed_rtt <= best.smoothed_rtt) return WeightedRoundRobin::next(opportunity);
  if (!node(DependencyTree::k_root).ready()) return std::nullopt;
  Index stream = candidate_below(DependencyTree::k_root);
  for (int i = 0; i < k_max_candidates && stream != k_none; ++i) {
    if (!waits(stream, best, *offered)) return node(stream).stream;
    stream = candidate_after(stream);
  }
  return std::nullopt;
}

bool StreamAwareEcf::waits(Index stream, const PathSnapshot& best, const PathSnapshot& offered) {
  const auto queued = static_cast<double>(node(DependencyTree::k_root).bytes);
  const double queue = std::min(queued, bytes_until_completion(stream));
  const auto best_window = static_cast<double>(std::max(best.window, best.datagram_size));
  const auto window = static_cast<double>(std::max(offered.window, offered.datagram_size));
  const double best_rtt = to_seconds(best.smoothed_rtt);
  const double rtt = to_seconds(offered.smoothed_rtt);
  const double margin = std::max(to_seconds(best.rtt_variance), to_seconds(offered.rtt_variance));

  if (waiting_.size() <= stream) waiting_.resize(stream + 1);
  const double hysteresis = k_beta + (waiting_[stream] ? 1 : 0);
  const double load = best_path_load(queue, best);
  // Compares a round trip until the best path has room, plus its sending time, with one round trip
  // of the other path.
  if (k_beta * best_rtt * (load + best_window) >= hysteresis * best_window * (rtt + margin)) {
    waiting_[stream] = false;
    return false;
  }
  // Waiting helps only while the other path would take longer than waiting and then sending.
  if (rtt * std::max(queue, window) <= window * (2 * best_rtt + margin)) return false;
  waiting_[stream] = true;
  return true;
}

double StreamAwareEcf::bytes_until_completion(Index stream) const {
  auto bytes = static_cast<double>(node(stream).own_bytes);
  for (Index child = stream; child != DependencyTree::k_root; child = node(child).parent) {
    bytes *= static_cast<double>(node(node(child).parent).ready_weight) / node(child).weight;
  }
  return bytes;
}

}  // namespace sheaf::quic
