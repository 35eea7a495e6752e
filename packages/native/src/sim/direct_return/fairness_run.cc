#include "sim/direct_return/fairness_run.h"

#include <algorithm>

#include "sim/addresses.h"
#include "sim/bulk_transfer.h"

namespace sheaf::quic {

namespace {

constexpr std::uint64_t k_starts_within_us = 1'000'000;
constexpr AddressPair k_plain{.local = ipv4({192, 0, 2, 9}, 50001),
                              .remote = ipv4({203, 0, 113, 7}, 444)};

class FairnessRun {
 public:
  explicit FairnessRun(const FairnessSetting& setting)
      : setting_(setting),
        random_(setting.seed),
        network_(setting.seed, farther(setting.network, some_place())),
        plain_(network_.simulation, plain_options(setting.network)) {
    Simulation& simulation = network_.simulation;
    const NetworkPath& path = simulation.share(network_.access, {"plain client", k_plain.local},
                                               {"plain server", k_plain.remote});
    const Duration round_trip = setting.plain_at_gateway ? 2 * setting.network.gateway_way
                                                         : longest_round_trip(setting.network);
    const LinkConfig way{.delay = round_trip / 2 + some_place()};
    simulation.lead_through(path, simulation.add_trunk(way));
  }

  FairnessResult run() {
    Simulation& simulation = network_.simulation;
    simulation.after(some_time(), [this] { request(); });
    simulation.after(some_time(), [this] { transfer_.emplace(plain_, Role::kServer, bytes()); });
    simulation.run_for(Duration(std::chrono::microseconds(k_starts_within_us)) + setting_.warm_up);
    const FairnessSide served_before = served();
    const FairnessSide plain_before = plain();
    simulation.run_for(setting_.counted);
    FairnessResult result;
    result.served = difference(served(), served_before);
    result.plain = difference(plain(), plain_before);
    for (const BackendExecutorHost& backend : network_.backends) {
      result.runs += backend.executor.stats().runs;
      for (const std::uint64_t runs : backend.executor.stats().refused) result.refused += runs;
    }
    result.digest = simulation.digest();
    return result;
  }

 private:
  static ConnectionPair::Options plain_options(const ReturnNetwork::Options& options) {
    ConnectionPair::Options plain;
    plain.client = options.client;
    plain.server = options.gateway;
    plain.path = k_plain;
    plain.client_name = "plain client";
    plain.server_name = "plain server";
    return plain;
  }
  Duration some_place() {
    const auto farthest = static_cast<std::uint64_t>(setting_.places.count());
    return Duration(farthest == 0 ? 0 : random_.below(farthest));
  }
  static ReturnNetwork::Options farther(ReturnNetwork::Options options, Duration by) {
    options.gateway_way += by;
    for (ReturnNetwork::Backend& backend : options.backends) backend.way += by;
    return options;
  }
  // Without the access link
  static Duration longest_round_trip(const ReturnNetwork::Options& options) {
    Duration longest = 2 * options.gateway_way;
    for (const ReturnNetwork::Backend& backend : options.backends) {
      longest = std::max(longest, options.gateway_way + backend.order + backend.way);
    }
    return longest;
  }
  Duration some_time() { return std::chrono::microseconds(random_.below(k_starts_within_us)); }

  // More than the link carries
  std::uint64_t bytes() const {
    const double seconds = 2 + to_seconds(setting_.warm_up + setting_.counted);
    return static_cast<std::uint64_t>(seconds * static_cast<double>(setting_.network.access.rate));
  }
  void request() {
    const std::size_t streams = std::max<std::size_t>(network_.backends.size(), 1);
    for (std::size_t i = 0; i < streams; ++i) network_.request(i, bytes());
  }
  std::uint64_t served_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [stream, response] : network_.responses()) bytes += response.received;
    return bytes;
  }
  FairnessSide served() const {
    const ReturnNetwork::Traffic traffic = network_.traffic();
    return {.bytes = served_bytes(), .packets = traffic.packets, .lost = traffic.lost};
  }
  FairnessSide plain() const {
    const PathStats path = plain_.server.connection.paths().stats().front();
    return {
        .bytes = transfer_->received(), .packets = path.packets_sent, .lost = path.packets_lost};
  }
  static FairnessSide difference(const FairnessSide& after, const FairnessSide& before) {
    return {.bytes = after.bytes - before.bytes,
            .packets = after.packets - before.packets,
            .lost = after.lost - before.lost};
  }

  const FairnessSetting& setting_;
  SeededRandom random_;
  ReturnNetwork network_;
  ConnectionPair plain_;
  std::optional<BulkTransfer> transfer_;
};

}  // namespace

FairnessResult run_fairness(const FairnessSetting& setting) { return FairnessRun(setting).run(); }

}  // namespace sheaf::quic
