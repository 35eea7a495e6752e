// `multicast_tree_bench SEED RUNS < SETTING`: a channel on a tree, in virtual time. The setting has
// a line for each of
//   receivers COUNT BRANCHES       on so many branches below the root
//   video MBPS FRAME_MS SECONDS    seconds that count, after a second that does not
//   loss ROOT BRANCH LEAF UNICAST  shares of the packets
//   channel REPORT_MS DEADLINE_MS REPAIRS SIGNED   the last two: 0 or 1
//   lossy_receivers COUNT          so many have the losses LEAF and UNICAST
//   unicast 0|1                    1: copies by unicast alone, without a tree
//   first_branch_only 0|1          1: BRANCH is the loss of one branch alone
//   buffers MS...                  after each of which a frame is late
//   budget MBPS                    for copies by unicast, to all receivers together
//   uplink MBPS                    rate of the source's link; 0: no limit
//   rate_factor FACTOR             rate of the channel, in rates of the video
//   cut root|BRANCH AT_MS FOR_MS   a part of the tree carries nothing; many are allowed
// Prints a JSON line for each run; the run with index i has the seed SEED + i and replays with it.
// `wall_s` is what the run took in real time.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "multicast/tree_world.h"
#include "setting_lines.h"

namespace {

using namespace sheaf::quic;
using namespace sheaf::quic::multicast_bench;

Duration milliseconds(double value) { return Duration(static_cast<std::int64_t>(value * 1e6)); }

double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Duration read_milliseconds(std::istream& in) {
  double value = 0;
  in >> value;
  return milliseconds(value);
}

// Two bytes of an address tell receivers apart.
void read_receivers(std::istream& in, TreeSetting& setting) {
  in >> setting.receivers >> setting.branches;
  const bool valid = setting.receivers > 0 && setting.receivers <= 65536 && setting.branches > 0;
  if (!valid) in.setstate(std::ios::failbit);
}

void read_video(std::istream& in, TreeSetting& setting) {
  in >> setting.mbps;
  setting.frame_interval = read_milliseconds(in);
  double seconds = 0;
  in >> seconds;
  setting.counted = milliseconds(seconds * 1e3);
  if (setting.mbps <= 0 || setting.frame_interval <= 0ms) in.setstate(std::ios::failbit);
}

void read_loss(std::istream& in, TreeSetting& setting) {
  in >> setting.root_loss >> setting.branch_loss >> setting.leaf_loss >> setting.unicast_loss;
}

void read_channel(std::istream& in, TreeSetting& setting) {
  setting.report_interval = read_milliseconds(in);
  setting.deadline = read_milliseconds(in);
  in >> setting.repairs >> setting.is_signed;
}

void read_buffers(std::istream& in, TreeSetting& setting) {
  setting.buffers.clear();
  do {
    setting.buffers.push_back(read_milliseconds(in));
  } while (!in.fail() && !in.eof());
}

void read_uplink(std::istream& in, TreeSetting& setting) { in >> setting.uplink_mbps; }

void read_rate_factor(std::istream& in, TreeSetting& setting) {
  in >> setting.rate_factor;
  if (setting.rate_factor < 1) in.setstate(std::ios::failbit);
}

void read_unicast(std::istream& in, TreeSetting& setting) { in >> setting.by_unicast; }

void read_lossy_receivers(std::istream& in, TreeSetting& setting) { in >> setting.lossy_receivers; }

void read_first_branch_only(std::istream& in, TreeSetting& setting) {
  in >> setting.first_branch_only;
}

void read_budget(std::istream& in, TreeSetting& setting) { in >> setting.budget_mbps; }

void read_cut(std::istream& in, TreeSetting& setting) {
  std::string place;
  in >> place;
  TreeCut cut{.root = place == "root"};
  if (!cut.root) cut.branch = std::strtoull(place.c_str(), nullptr, 10);
  cut.at = read_milliseconds(in);
  cut.length = read_milliseconds(in);
  setting.cuts.push_back(cut);
}

std::string listed(const std::vector<std::uint64_t>& values) {
  std::string list;
  for (const std::uint64_t value : values)
    list += (list.empty() ? "" : ",") + std::to_string(value);
  return list;
}

void print(const Lateness& lateness) {
  std::printf(
      "\"lateness_mean_ms\":%.4f,\"lateness_p50_ms\":%.4f,\"lateness_p95_ms\":%.4f,"
      "\"lateness_p99_ms\":%.4f,\"lateness_max_ms\":%.4f,",
      to_ms(lateness.mean), to_ms(lateness.median), to_ms(lateness.p95), to_ms(lateness.p99),
      to_ms(lateness.longest));
}

void print(std::uint64_t seed, const TreeResult& result, double wall) {
  std::printf("{");
  print(result.lateness);
  std::printf("\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\",\"frames\":%" PRIu64
              ",\"due\":%" PRIu64 ",\"on_time\":[%s],\"completed\":%" PRIu64 ",\"lost\":%" PRIu64
              ",\"loss_reports\":%" PRIu64 ",\"from_group\":%" PRIu64 ",\"from_unicast\":%" PRIu64
              ",\"recovered\":%" PRIu64 ",\"expired\":%" PRIu64 ",\"group_bytes\":%" PRIu64
              ",\"copied_bytes\":%" PRIu64 ",\"repairs\":%" PRIu64 ",\"repair_bytes\":%" PRIu64
              ",\"opened\":%" PRIu64 ",\"shared\":%" PRIu64
              ",\"peak_unicast_mbps\":%.3f,\"recovery_ms\":%.1f,\"wall_s\":%.2f}\n",
              seed, result.digest, result.frames, result.due, listed(result.on_time).c_str(),
              result.completed, result.lost, result.loss_reports, result.from_group,
              result.from_unicast, result.recovered, result.expired, result.group_bytes,
              result.copied_bytes, result.repairs, result.repair_bytes, result.opened,
              result.shared, result.peak_unicast_mbps, to_ms(result.recovery), wall);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: multicast_tree_bench SEED RUNS < SETTING\n");
    return 2;
  }
  TreeSetting setting;
  const LineReaders<TreeSetting> readers{{"receivers", read_receivers},
                                         {"video", read_video},
                                         {"loss", read_loss},
                                         {"channel", read_channel},
                                         {"buffers", read_buffers},
                                         {"budget", read_budget},
                                         {"uplink", read_uplink},
                                         {"rate_factor", read_rate_factor},
                                         {"cut", read_cut},
                                         {"unicast", read_unicast},
                                         {"lossy_receivers", read_lossy_receivers},
                                         {"first_branch_only", read_first_branch_only}};
  if (const auto line = read_lines(std::cin, readers, setting)) {
    std::fprintf(stderr, "multicast_tree_bench: not understood: %s\n", line->c_str());
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t runs = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    const auto start = std::chrono::steady_clock::now();
    const TreeResult result = TreeWorld(setting, seed).run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    print(seed, result, wall.count());
  }
  return 0;
}
