#include "congestion/olia.h"

#include <algorithm>
#include <cmath>

namespace sheaf::quic {

namespace {

using Member = OliaCoupling::Member;

// Returns the window in whole datagrams. Windows count as equal when they hold as many: with
// fractions, one of them would be the largest for a moment, and then the other.
double datagrams(const Member& member) { return std::floor(member.window / member.datagram); }

// Returns the quality of a path. A single flow on a path with such losses gets a rate proportional
// to its square root.
double quality(const Member& member) {
  return std::max(member.since_loss, member.before_loss) / (member.round_trip * member.round_trip);
}

}  // namespace

double OliaCoupling::growth(const Member& member) const {
  double total_rate = 0;
  for (const Member* other : members_) {
    if (other->round_trip > 0) total_rate += other->window / other->round_trip;
  }
  if (member.round_trip <= 0 || total_rate <= 0) return 1 / member.window;
  const double share = member.window / member.round_trip / total_rate;
  return (share * share + alpha(member)) / member.window;
}

// Returns the correction of a path's growth. Paths are the best by their losses, and the largest by
// their window. If some of the best are not among the largest, those grow faster, and the largest
// more slowly by the same amount in total.
double OliaCoupling::alpha(const Member& member) const {
  double best = 0, largest = 0, paths = 0;
  for (const Member* other : members_) {
    if (other->round_trip <= 0) continue;
    best = std::max(best, quality(*other));
    largest = std::max(largest, datagrams(*other));
    ++paths;
  }
  double collected = 0, largest_count = 0;
  for (const Member* other : members_) {
    if (other->round_trip <= 0) continue;
    if (datagrams(*other) == largest) {
      ++largest_count;
    } else if (quality(*other) == best) {
      ++collected;
    }
  }
  if (collected == 0) return 0;
  if (datagrams(member) == largest) return -1 / (paths * largest_count);
  return quality(member) == best ? 1 / (paths * collected) : 0;
}

Olia::Olia(const CongestionConfig& config)
    : LossBasedController(config),
      coupling_(config.coupling ? config.coupling : std::make_shared<OliaCoupling>()) {
  member_.window = current_window();
  member_.datagram = datagram_size();
  coupling_->join(member_);
}

void Olia::on_acknowledgement(const AckSample& sample) {
  member_.since_loss += static_cast<double>(sample.acknowledged_bytes);
  member_.round_trip = to_seconds(sample.smoothed_rtt);
  member_.datagram = datagram_size();
  // Losses and a larger datagram may have changed the window since.
  member_.window = current_window();
  LossBasedController::on_acknowledgement(sample);
  member_.window = current_window();
}

double Olia::grown_window(const AckSample& sample) {
  return current_window() + datagram_size() * static_cast<double>(sample.acknowledged_bytes) *
                                coupling_->growth(member_);
}

double Olia::reduced_window() {
  member_.before_loss = member_.since_loss;
  member_.since_loss = 0;
  return member_.window = current_window() / 2;
}

void Olia::on_undo() {
  // Restores the state, as if there had been no loss.
  member_.since_loss += remembered_.since_loss;
  member_.before_loss = remembered_.before_loss;
}

}  // namespace sheaf::quic
