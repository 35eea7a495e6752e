// Several paths in virtual time, for `sheaf bench paths --sim`:
//   paths_bench goodput SCHEDULER CONTROLLER SEED RUNS SECONDS RATE:RTT:LOSS...
//   paths_bench failover SCHEDULER CONTROLLER SEED RUNS
// Rates in Mbit/s, round trips in milliseconds, loss in percent each way. Prints one JSON line with
// a value for each run; the run with index i has the seed SEED + i and replays with it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emulation/units.h"
#include "sim/bulk_transfer.h"

namespace {

using namespace sheaf::quic;
using std::chrono::milliseconds;

constexpr std::uint64_t k_endless = std::uint64_t{1} << 40;

struct PathSpecification {
  double megabits = 0;
  double rtt_ms = 0;
  double loss_percent = 0;
};

struct Setting {
  PathSchedulerKind scheduler = PathSchedulerKind::kEcf;
  CongestionAlgorithm controller = CongestionAlgorithm::kCubic;
};

[[noreturn]] void refuse(const char* what, const char* value) {
  std::fprintf(stderr, "paths_bench: %s: %s\n", what, value);
  std::exit(2);
}

PathSchedulerKind scheduler_named(const char* name) {
  constexpr std::pair<const char*, PathSchedulerKind> k_names[] = {
      {"ecf", PathSchedulerKind::kEcf},
      {"min-rtt", PathSchedulerKind::kMinRtt},
      {"round-robin", PathSchedulerKind::kRoundRobin},
      {"weighted", PathSchedulerKind::kWeighted},
      {"blest", PathSchedulerKind::kBlest},
      {"redundant", PathSchedulerKind::kRedundant},
      {"backup-only", PathSchedulerKind::kBackupOnly}};
  for (const auto& [known, kind] : k_names) {
    if (std::strcmp(name, known) == 0) return kind;
  }
  refuse("no such scheduler", name);
}

CongestionAlgorithm controller_named(const char* name) {
  constexpr std::pair<const char*, CongestionAlgorithm> k_names[] = {
      {"newreno", CongestionAlgorithm::kNewReno},
      {"cubic", CongestionAlgorithm::kCubic},
      {"bbr", CongestionAlgorithm::kBbr},
      {"olia", CongestionAlgorithm::kOlia}};
  for (const auto& [known, kind] : k_names) {
    if (std::strcmp(name, known) == 0) return kind;
  }
  refuse("no such controller", name);
}

LinkConfig link_of(const PathSpecification& path) {
  LinkConfig config;
  config.rate = static_cast<std::uint64_t>(path.megabits * 125'000);
  config.delay = Duration(static_cast<std::int64_t>(path.rtt_ms * 500'000));
  config.loss = path.loss_percent / 100;
  // One bandwidth-delay product, as routers are configured, but at least a burst.
  const double product = static_cast<double>(config.rate) * path.rtt_ms / 1000;
  config.queue_bytes = std::max<std::size_t>(static_cast<std::size_t>(product), 32_kib);
  return config;
}

AddressPair addresses(std::size_t interface) {
  AddressPair pair;
  pair.local.family = pair.remote.family = Address::Family::kIpv4;
  pair.local.ip = {10, 0, static_cast<std::uint8_t>(interface), 1};
  pair.local.port = 50'000;
  pair.remote.ip = {10, 1, 0, 1};
  pair.remote.port = 443;
  return pair;
}

// A server that sends to a client over all the paths.
class Download {
 public:
  Download(const Setting& setting, const std::vector<PathSpecification>& paths, std::uint64_t seed)
      : simulation_(seed) {
    ConnectionConfig config;
    config.path_scheduler = setting.scheduler;
    config.congestion.algorithm = setting.controller;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const AddressPair pair = addresses(i);
      links_.push_back(
          &simulation_.connect({"client", pair.local}, {"server", pair.remote}, link_of(paths[i])));
    }
    pair_ = std::make_unique<ConnectionPair>(simulation_,
                                             ConnectionPair::Options{config, config, addresses(0)});
    pair_->client.on_event = [this](const Event& event, Time) { note(event); };
    run_until([this] { return confirmed_; });
    for (std::size_t i = 1; i < paths.size(); ++i) {
      const std::size_t before = validated_;
      if (!pair_->client.connection.paths().open(addresses(i), simulation_.now())) {
        refuse("a path cannot be opened", "no connection id");
      }
      run_until([&] { return validated_ > before; });
    }
    transfer_ = std::make_unique<BulkTransfer>(*pair_, Role::kServer, k_endless);
  }

  void run_for(Duration duration) { simulation_.run_for(duration); }
  double megabits_per_second() const {
    return transfer_->goodput(simulation_.now()) * 8 / 1'000'000;
  }
  BulkTransfer& transfer() { return *transfer_; }
  Time now() const { return simulation_.now(); }
  void set_down(std::size_t path, bool down) {
    for (Link* link : {&links_[path]->there, &links_[path]->back}) {
      LinkConfig config = link->config();
      config.down = down;
      link->change_at(simulation_.now(), config);
    }
  }
  std::vector<PathStats> server_paths() const { return pair_->server.connection.paths().stats(); }
  Duration probe_timeout(const PathStats& path) const {
    return path.smoothed_rtt + std::max(4 * path.rtt_variance, Duration(milliseconds(1))) +
           milliseconds(25);
  }

 private:
  void note(const Event& event) {
    confirmed_ |= std::holds_alternative<HandshakeConfirmedEvent>(event);
    validated_ += std::holds_alternative<PathValidatedEvent>(event);
  }
  void run_until(const std::function<bool()>& reached) {
    if (simulation_.run_until(reached, std::chrono::seconds(60)) != Simulation::Outcome::kReached) {
      refuse("the connection is not ready after a minute", "");
    }
  }

  Simulation simulation_;
  std::vector<NetworkPath*> links_;
  std::unique_ptr<ConnectionPair> pair_;
  std::unique_ptr<BulkTransfer> transfer_;
  bool confirmed_ = false;
  std::size_t validated_ = 0;
};

void print(const char* name, const std::vector<double>& values) {
  std::printf("\"%s\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s%.6g", i > 0 ? "," : "", values[i]);
  }
  std::printf("]");
}

int goodput(const Setting& setting, std::uint64_t seed, int runs, int seconds,
            const std::vector<PathSpecification>& paths) {
  std::vector<double> values;
  for (int run = 0; run < runs; ++run) {
    Download download(setting, paths, seed + static_cast<std::uint64_t>(run));
    download.run_for(std::chrono::seconds(seconds));
    if (!download.transfer().intact()) refuse("bytes arrived that were not sent", "");
    values.push_back(download.megabits_per_second());
  }
  std::printf("{");
  print("goodput_mbps", values);
  std::printf("}\n");
  return 0;
}

// One of two paths goes down in the middle of a transfer, and comes back.
int failover(const Setting& setting, std::uint64_t seed, int runs) {
  const std::vector<PathSpecification> paths{{20, 40, 0}, {20, 40, 0}};
  std::vector<double> stalls, bounds, used_again;
  for (int run = 0; run < runs; ++run) {
    Download download(setting, paths, seed + static_cast<std::uint64_t>(run));
    // The time varies the phase of the controllers.
    download.run_for(milliseconds(1500 + 37 * (run % 100)));
    const auto before = download.server_paths();
    const Duration bound = 2 * download.probe_timeout(before.at(1)) + before.at(0).smoothed_rtt;
    download.transfer().watch_stalls(download.now());
    download.set_down(1, true);
    download.run_for(std::chrono::seconds(3));
    stalls.push_back(std::chrono::duration<double, std::milli>(
                         std::max(download.transfer().longest_stall(),
                                  download.now() - download.transfer().last_progress()))
                         .count());
    bounds.push_back(std::chrono::duration<double, std::milli>(bound).count());
    download.set_down(1, false);
    download.run_for(std::chrono::seconds(6));
    const auto after = download.server_paths();
    used_again.push_back(static_cast<double>(after.at(1).bytes_sent - before.at(1).bytes_sent));
    if (!download.transfer().intact()) refuse("bytes arrived that were not sent", "");
  }
  std::printf("{");
  print("stall_ms", stalls);
  std::printf(",");
  print("bound_ms", bounds);
  std::printf(",");
  print("bytes_after_return", used_again);
  std::printf("}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) refuse("usage", "paths_bench goodput|failover SCHEDULER CONTROLLER SEED RUNS ...");
  const Setting setting{scheduler_named(argv[2]), controller_named(argv[3])};
  const std::uint64_t seed = std::strtoull(argv[4], nullptr, 10);
  const int runs = std::atoi(argv[5]);
  if (std::strcmp(argv[1], "failover") == 0) return failover(setting, seed, runs);
  if (std::strcmp(argv[1], "goodput") != 0 || argc < 8) refuse("no such experiment", argv[1]);
  std::vector<PathSpecification> paths;
  for (int i = 7; i < argc; ++i) {
    PathSpecification path;
    if (std::sscanf(argv[i], "%lf:%lf:%lf", &path.megabits, &path.rtt_ms, &path.loss_percent) !=
        3) {
      refuse("not RATE:RTT:LOSS", argv[i]);
    }
    paths.push_back(path);
  }
  return goodput(setting, seed, runs, std::atoi(argv[6]), paths);
}
