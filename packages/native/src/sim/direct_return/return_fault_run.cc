#include "sim/direct_return/return_fault_run.h"

#include <algorithm>

#include "emulation/units.h"
#include "sim/addresses.h"
#include "sim/direct_return/return_network.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_site_backends = 3;
constexpr std::size_t k_site_requests = 16, k_site_at_once = 4;
// Lost messages look like lost packets, so the window stays small where many are lost.
constexpr Duration k_longest = 180s;
constexpr Duration k_outage = 1s;
// A client that hears nothing for this time takes the gateway for dead. Then it needs two round
// trips, and a name lookup.
constexpr Duration k_gives_up = 1s, k_dials_anew = 200ms;
// Backends have forgotten a dead gateway's grants one second after its last word, which comes from
// the network.
constexpr Duration k_grants_end = 1100ms;
constexpr double k_messages_lost = 0.05;
constexpr std::uint64_t k_cancelled = 0x10c;  // H3_REQUEST_CANCELLED
constexpr AddressPair k_second_path{ipv4({192, 0, 2, 10}, 50000), ipv4({203, 0, 113, 7}, 443)};

constexpr std::pair<std::string_view, ReturnFault> k_fault_names[] = {
    {"none", ReturnFault::kNone},
    {"backend-death", ReturnFault::kBackendDeath},
    {"backend-restart", ReturnFault::kBackendRestart},
    {"backend-failure", ReturnFault::kBackendFailure},
    {"backend-drain", ReturnFault::kBackendDrain},
    {"source-filtered", ReturnFault::kSourceFiltered},
    {"backbone-cut", ReturnFault::kBackboneCut},
    {"backbone-outage", ReturnFault::kBackboneOutage},
    {"lost-messages", ReturnFault::kLostMessages},
    {"rebinding", ReturnFault::kRebinding},
    {"key-update", ReturnFault::kKeyUpdate},
    {"key-limit", ReturnFault::kKeyLimit},
    {"slow-client", ReturnFault::kSlowClient},
    {"request-given-up", ReturnFault::kRequestGivenUp},
    {"second-path", ReturnFault::kSecondPath},
    {"gateway-death", ReturnFault::kGatewayDeath}};

ReturnNetwork::Options random_site(const ReturnFaultSetting& setting, SeededRandom& random) {
  const auto microseconds = [&](std::uint64_t from, std::uint64_t more) {
    return Duration(std::chrono::microseconds(from + random.below(more)));
  };
  ReturnNetwork::Options options;
  options.access = {.queue_bytes = 256_kib,
                    .rate = (10 + random.below(40)) * 1_mbps,
                    .loss = random.below(2) == 0 ? 0 : 0.002,
                    .delay = microseconds(5'000, 35'000),
                    .jitter = microseconds(0, 1'000)};
  options.gateway_way = microseconds(100, 2'000);
  options.head = 100;
  options.own_recovery = setting.own_recovery;
  for (std::size_t i = 0; i < k_site_backends; ++i) {
    options.backends.push_back(
        {.order = microseconds(100, 5'000), .way = microseconds(100, 5'000)});
  }
  if (setting.fault == ReturnFault::kSourceFiltered) options.backends[0].reaches = false;
  if (setting.fault == ReturnFault::kBackendRestart) {
    options.backends.push_back(options.backends[0]);  // its new process
  }
  return options;
}

class ReturnFaultRun {
 public:
  explicit ReturnFaultRun(const ReturnFaultSetting& setting)
      : setting_(setting),
        random_(setting.seed),
        options_(random_site(setting, random_)),
        network_(setting.seed, options_),
        second_(network_.simulation.connect({"client", k_second_path.local},
                                            {"gateway", k_second_path.remote}, options_.access)) {}

  ReturnFaultResult run() {
    measure_round_trip(network_);
    network_.simulation.after(milliseconds_below(200, 600), [this] { strike(); });
    if (setting_.key_update) {
      network_.simulation.after(milliseconds_below(150, 700), [this] { update_client_keys(); });
    }
    if (setting_.fault == ReturnFault::kGatewayDeath) {
      run_until([this] { return struck_; });
      return after_gateway_death();
    }
    run_until([this] { return struck_ && started_ == k_site_requests && open() == 0; });
    return result();
  }

 private:
  Duration milliseconds_below(std::uint64_t from, std::uint64_t more) {
    return std::chrono::milliseconds(from + random_.below(more));
  }
  // The gateway itself sends a first response, as its part of a handshake would be.
  static void measure_round_trip(ReturnNetwork& network) {
    network.request(network.backends.size(), 1000);
    network.simulation.run_until([&] { return network.all_finished(); }, k_longest);
  }
  Connection& client() { return network_.pair.client.connection; }
  Connection& server() { return network_.pair.server.connection; }

  // Four requests are open at any time.
  void run_until(const std::function<bool()>& reached) {
    network_.simulation.run_until(
        [&] {
          if (open() + due_ < k_site_at_once && started_ + due_ < k_site_requests) {
            ++due_;
            network_.simulation.after(0s, [this] { start_next(); });
          }
          return reached();
        },
        k_longest);
  }
  std::size_t open() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        network_.responses(),
        [&](const auto& entry) { return !ended(entry.second) && entry.first != given_up_; }));
  }
  static bool ended(const ReturnNetwork::Response& response) {
    return response.finished || response.reset;
  }
  void start_next() {
    --due_;
    ++started_;
    last_ = network_.request(backend_for_next(), 100'000 + random_.below(700'000));
  }
  std::size_t backend_for_next() const {
    const std::size_t backend = started_ % k_site_backends;
    const bool restarted = struck_ && setting_.fault == ReturnFault::kBackendRestart;
    return restarted && backend == 0 ? k_site_backends : backend;
  }

  void update_client_keys() {
    const Time now = network_.simulation.now();
    if (!client().extension().keys().initiate_update(PathId{0}, now, 100ms)) return;
    ping();
  }
  // A client that only receives would show neither its new keys nor its new address.
  void ping() { client().extension().paths().find(PathId{0})->path->ping_due = true; }

  void strike() {
    struck_ = true;
    Simulation& simulation = network_.simulation;
    switch (setting_.fault) {
      case ReturnFault::kNone:
      case ReturnFault::kSourceFiltered:
        return;
      case ReturnFault::kBackendDeath:
        return network_.kill(random_.below(k_site_backends));
      case ReturnFault::kBackendRestart:
        return network_.kill_and_close(0);
      case ReturnFault::kBackendFailure:
        return network_.fail(random_.below(k_site_backends));
      case ReturnFault::kBackendDrain:
        return network_.drain(random_.below(k_site_backends));
      case ReturnFault::kBackboneCut:
        return network_.set_cut(random_.below(k_site_backends), true);
      case ReturnFault::kBackboneOutage:
        set_outage(true);
        return simulation.after(k_outage, [this] { set_outage(false); });
      case ReturnFault::kLostMessages:
        return network_.set_order_loss(k_messages_lost);
      case ReturnFault::kRebinding:
        network_.set_order_loss(k_messages_lost);
        simulation.rebind(network_.access, ipv4({192, 0, 2, 9}, 61000));
        return ping();
      case ReturnFault::kKeyUpdate:
        network_.set_order_loss(k_messages_lost);
        return update_client_keys();
      case ReturnFault::kKeyLimit:
        if (setting_.own_recovery) {
          static_cast<void>(server().initiate_key_update(simulation.now()));
          return;
        }
        if (!server().extension().keys().initiate_update(PathId{0}, simulation.now(), 100ms)) {
          return;
        }
        server().extension().paths().find(PathId{0})->path->ping_due = true;
        return;
      case ReturnFault::kSlowClient:
        network_.set_reading(false);
        return simulation.after(1s, [this] { network_.set_reading(true); });
      case ReturnFault::kRequestGivenUp:
        given_up_ = last_;
        static_cast<void>(client().streams().reader().stop_sending(*given_up_, k_cancelled));
        return;
      case ReturnFault::kSecondPath:
        static_cast<void>(client().paths().open(k_second_path, simulation.now()));
        return;
      case ReturnFault::kGatewayDeath:
        return network_.kill_gateway();
    }
  }
  void set_outage(bool cut) {
    for (std::size_t i = 0; i < k_site_backends; ++i) network_.set_cut(i, cut);
  }

  ReturnFaultResult result() {
    ReturnFaultResult result{.requests = started_};
    for (const auto& [stream, response] : network_.responses()) {
      if (stream == given_up_) {
        result.bytes_wrong += response.intact ? 0 : response.wanted;
        continue;
      }
      add(response, response.wanted, result);
    }
    result.failed += k_site_requests - started_;
    result.lost = network_.orphans.size();
    result.proxied = network_.proxied - 1;  // besides the first one
    result.key_updates = server().stats().key_updates;
    result.digest = network_.simulation.digest();
    return result;
  }
  static void add(const ReturnNetwork::Response& response, std::uint64_t wanted,
                  ReturnFaultResult& result) {
    result.failed += response.finished ? 0 : 1;
    if (!response.intact) {
      result.bytes_wrong += wanted;
    } else if (response.finished) {
      result.bytes_wrong += wanted - response.received;
    }
    result.longest_stall = std::max(result.longest_stall, response.longest_stall);
  }

  // The rest is asked for at another gateway, which the same backends serve.
  ReturnFaultResult after_gateway_death() {
    ReturnFaultResult result{.requests = started_};
    const Time died = network_.simulation.now();
    network_.simulation.run_for(k_grants_end);
    for (const BackendExecutorHost& backend : network_.backends) {
      // A backend that still has keys of the connection might go on.
      result.failed += backend.executor.grants() == 0 ? 0 : 1;
    }
    ReturnNetwork next(setting_.seed + 1, options_);
    Duration silent{};
    std::size_t backend = 0;
    measure_round_trip(next);
    for (const auto& [stream, response] : network_.responses()) {
      result.longest_stall = std::max(result.longest_stall, response.longest_stall);
      result.bytes_wrong += response.intact ? 0 : response.wanted;
      if (response.finished) continue;
      silent = std::max(silent, died - response.progressed_at);
      next.request(backend++ % k_site_backends, response.wanted - response.received);
    }
    next.simulation.run_until([&] { return next.all_finished(); }, k_longest);
    for (const auto& [stream, response] : next.responses()) {
      add(response, response.wanted, result);
      const Duration first = response.first_at - response.asked_at;
      result.longest_stall =
          std::max(result.longest_stall, silent + k_gives_up + k_dials_anew + first);
    }
    result.digest = network_.simulation.digest() ^ next.simulation.digest();
    return result;
  }

  ReturnFaultSetting setting_;
  SeededRandom random_;
  ReturnNetwork::Options options_;
  ReturnNetwork network_;
  NetworkPath& second_;
  std::size_t started_ = 0;
  std::size_t due_ = 0;  // requests that start at this instant
  bool struck_ = false;
  StreamId last_{};
  std::optional<StreamId> given_up_;
};

}  // namespace

std::optional<ReturnFault> return_fault_named(std::string_view name) {
  for (const auto& [known, fault] : k_fault_names) {
    if (known == name) return fault;
  }
  return std::nullopt;
}

ReturnFaultResult run_return_fault(const ReturnFaultSetting& setting) {
  return ReturnFaultRun(setting).run();
}

Duration return_stall_bound(ReturnFault fault) {
  switch (fault) {
    case ReturnFault::kBackboneCut:
    case ReturnFault::kBackboneOutage:
    case ReturnFault::kGatewayDeath:
      return 4s;
    case ReturnFault::kSlowClient:
      return 2500ms;  // the client's second, and a time to go on
    default:
      return 1500ms;
  }
}

}  // namespace sheaf::quic
