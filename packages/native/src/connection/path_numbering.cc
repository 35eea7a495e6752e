#include "connection/path_numbering.h"

namespace sheaf::quic {

namespace {

// Between two numbers that are left out.
constexpr PacketNumber k_shortest_way_to_hole = 128;
constexpr PacketNumber k_longest_way_to_hole = k_shortest_way_to_hole + 4096;
static_assert(k_shortest_way_to_hole >= k_max_run, "the run after a hole has none inside");

}  // namespace

void PathNumbering::leave_hole_before(std::size_t packets) {
  SentPackets& sent = entry_.path->loss.sent();
  if (sent.next_number() + packets <= entry_.skip_number_at) return;
  if (sent.next_number() > 0) sent.skip_number();
  entry_.skip_number_at = sent.next_number() + k_shortest_way_to_hole +
                          parts_.random.below(k_longest_way_to_hole - k_shortest_way_to_hole);
}

void PathNumbering::account(const Numbered& numbered, Ecn mark) {
  Path& path = *entry_.path;
  path.amplification.on_sent(numbered.bytes);
  path.bytes_sent += numbered.bytes;
  path.packets_sent += numbered.packets;
  if (parts_.config.use_ecn) path.ecn.on_sent(mark, numbered.packets);
  if (!numbered.ack_eliciting) return;
  parts_.path_scheduler->on_sent(path.id, numbered.bytes);
  path.pacer.on_sent(numbered.bytes, now_);
  parts_.idle.on_ack_eliciting_sent(now_);
  if (path.probe_credits > 0) --path.probe_credits;
}

}  // namespace sheaf::quic
