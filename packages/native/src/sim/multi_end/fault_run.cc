#include "sim/multi_end/fault_run.h"

#include <algorithm>

#include "emulation/units.h"
#include "multi_end/backends.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_backends = 3;
constexpr std::size_t k_requests = 24, k_at_once = 4;
// Time until another primary answers: two round trips, and a name lookup
constexpr Duration k_dial = 200ms;
constexpr Duration k_limit = 60s;

constexpr std::pair<std::string_view, BackendFault> k_names[] = {
    {"none", BackendFault::kNone},
    {"backend-crash", BackendFault::kBackendCrash},
    {"backend-drain", BackendFault::kBackendDrain},
    {"backend-join", BackendFault::kBackendJoin},
    {"primary-crash", BackendFault::kPrimaryCrash},
    {"backbone-cut", BackendFault::kBackboneCut},
    {"path-cut", BackendFault::kPathCut},
    {"client-rebinding", BackendFault::kRebinding},
    {"client-migration", BackendFault::kMigration}};

LinkConfig random_link(SeededRandom& random) {
  return {.queue_bytes = 64_kib,
          .rate = (5 + random.below(20)) * 1_mbps,
          .loss = random.below(2) == 0 ? 0 : 0.002,
          .delay = std::chrono::milliseconds(5 + random.below(40)),
          .jitter = std::chrono::milliseconds(random.below(3))};
}

MultiEndNetwork::Options random_network(const FaultSetting& setting, SeededRandom& random) {
  MultiEndNetwork::Options options{
      .primary = random_link(random), .backends = {}, .client = {}, .server = {}};
  const LinkConfig backbone{.rate = 1000_mbps,
                            .delay = std::chrono::milliseconds(1 + random.below(30))};
  for (std::size_t i = 0; i < k_backends; ++i) {
    options.backends.push_back({.client = random_link(random), .primary = backbone});
  }
  if (setting.fault == BackendFault::kBackendJoin) options.first_backends = 1;
  for (ConnectionConfig* config : {&options.client, &options.server}) {
    offer_multi_end(*config, static_cast<std::uint64_t>(setting.keys));
  }
  return options;
}

class FaultRun {
 public:
  explicit FaultRun(const FaultSetting& setting)
      : setting_(setting),
        random_(setting.seed),
        simulation_(setting.seed),
        options_(random_network(setting, random_)),
        client_(simulation_, MultiEndClient::Delivery::kDirect) {
    networks_.push_back(std::make_unique<MultiEndNetwork>(simulation_, options_));
    client_.use(*networks_[0]);
    client_.dial = [this] { dial(); };
    client_.on_done = [this] { start_next(); };
  }

  FaultResult run() {
    const std::size_t offered = std::min(k_backends, options_.first_backends);
    run_until([&] { return networks_[0]->open_paths() == offered; });
    for (std::size_t i = 0; i < k_at_once; ++i) start_next();
    const Duration when = milliseconds_below(200, 1000);
    simulation_.after(when, [this] { strike(); });
    if (setting_.key_update) {
      simulation_.after(when + milliseconds_below(0, 200) - 100ms, [this] { update_keys(); });
    }
    const bool finished = run_until([this] {
      const auto& transfers = client_.transfers();
      return transfers.size() == k_requests && std::ranges::all_of(transfers, &Transfer::done);
    });
    return result(finished);
  }

 private:
  bool run_until(const std::function<bool()>& reached) {
    return simulation_.run_until(reached, k_limit) == Simulation::Outcome::kReached;
  }
  Duration milliseconds_below(std::uint64_t from, std::uint64_t more) {
    return std::chrono::milliseconds(from + random_.below(more));
  }

  void start_next() {
    if (started_ == k_requests) return;
    ++started_;
    const std::uint64_t bytes = 50'000 + random_.below(500'000);
    const bool uploads = random_.below(4) == 0;
    client_.start(uploads ? TransferWanted{.length = 100, .upload = bytes}
                          : TransferWanted{.length = bytes});
  }

  void dial() {
    if (networks_.size() > 1) return;
    simulation_.after(k_dial, [this] {
      networks_.push_back(std::make_unique<MultiEndNetwork>(simulation_, options_, 1));
      client_.use(*networks_.back());
    });
  }

  void update_keys() { updated_ = networks_[0]->client().initiate_key_update(simulation_.now()); }

  void strike() {
    MultiEndNetwork& network = *networks_[0];
    const std::size_t victim = random_.below(k_backends);
    switch (setting_.fault) {
      case BackendFault::kNone:
        return;
      case BackendFault::kBackendCrash:
        return network.crash_backend(victim);
      case BackendFault::kBackendDrain:
        return network.drain_backend(victim);
      case BackendFault::kBackendJoin:
        network.join(1);
        return network.join(2);
      case BackendFault::kPrimaryCrash:
        return network.crash_primary();
      case BackendFault::kBackboneCut:
        return network.cut_backbone(victim);
      case BackendFault::kPathCut:
        return network.cut_client_path(victim);
      case BackendFault::kRebinding:
        return network.rebind_client();
      case BackendFault::kMigration:
        return network.migrate_client();
    }
  }

  FaultResult result(bool finished) {
    FaultResult result{.requests = k_requests, .finished = finished};
    for (const Transfer& transfer : client_.transfers()) {
      result.failed += !transfer.completed;
      const std::uint64_t missing = transfer.wanted.length - transfer.received;
      if (transfer.completed) {
        result.bytes_lost += transfer.intact ? missing : transfer.wanted.length;
      }
      result.longest_stall = std::max(result.longest_stall, transfer.longest_stall);
      result.repeated += std::max(1u, transfer.attempts) - 1;
      result.resumed += transfer.resumed;
    }
    result.key_updates = networks_[0]->client().stats().key_updates;
    for (const auto& network : networks_) {
      for (std::size_t i = 0; i < network->backends(); ++i) {
        result.handshake_datagrams += network->backend(i).handshake_datagrams();
      }
    }
    result.digest = simulation_.digest();
    return result;
  }

  FaultSetting setting_;
  SeededRandom random_;
  Simulation simulation_;
  MultiEndNetwork::Options options_;
  std::vector<std::unique_ptr<MultiEndNetwork>> networks_;
  MultiEndClient client_;
  std::size_t started_ = 0;
  bool updated_ = false;
};

}  // namespace

std::optional<BackendFault> backend_fault_named(std::string_view name) {
  for (const auto& [known, fault] : k_names) {
    if (known == name) return fault;
  }
  return std::nullopt;
}

FaultResult run_fault(const FaultSetting& setting) { return FaultRun(setting).run(); }

Duration stall_bound(BackendFault fault) {
  switch (fault) {
    case BackendFault::kBackendCrash:
    case BackendFault::kPathCut:
      return 4s;
    case BackendFault::kPrimaryCrash:
    case BackendFault::kBackboneCut:
      return 5s;
    default:
      return 2s;
  }
}

}  // namespace sheaf::quic
