#include "connection/path_numbering.h"

namespace sheaf::quic {

namespace {

// Between two numbers that are left out.
constexpr PacketNumber k_shortest_way_to_hole = 128;
constexpr PacketNumber k_longest_way_to_hole = k_shortest_way_to_hole + 4096;
static_assert(k_shortest_way_to_hole >= k_max_run, "the run after a hole has none inside");

}  // namespace

void PathNumbering::leave_hole() {
  SentPackets& sent = entry_.path->loss.sent();
  if (sent.next_number() > 0) sent.skip_number();
  entry_.skip_number_at = sent.next_number() + k_shortest_way_to_hole +
                          parts_.random.below(k_longest_way_to_hole - k_shortest_way_to_hole);
}

}  // namespace sheaf::quic
