// Performs random operations on connection, paths, streams and links. Whatever happens, streams
// deliver what was written, in order, and the connection lives until somebody closes it. A few
// cases of each run are new. A failure names its seed: SHEAF_RANDOM_OPERATIONS_SEED=N replays that
// case alone.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "multi_end/backends.h"
#include "multipath/world.h"

namespace sheaf::quic {
namespace {

constexpr int k_cases = 120;
constexpr int k_new_cases = 4;
constexpr int k_operations = 100;
constexpr std::size_t k_interfaces = 4;

class Case {
 public:
  explicit Case(std::uint64_t seed) : random_(seed), world_(options(seed, random_)) {
    for (const Role role : {Role::kClient, Role::kServer}) {
      world_.pair->host(role).on_event = [this, role](const Event& event, Time now) {
        on_event(role, event, now);
      };
    }
  }

  int run() {
    EXPECT_TRUE(world_.run_until([this] { return confirmed_; }));
    int done = 0;
    for (; done < k_operations && !ended(); ++done) {
      operate();
      world_.run_for(std::chrono::milliseconds(random_.below(120)));
    }
    heal();
    const auto complete = [this] { return ended() || all_arrived(); };
    EXPECT_TRUE(world_.run_until(complete, 100s)) << "not everything arrived";
    // No operation closed the connection.
    EXPECT_FALSE(ended()) << end_;
    EXPECT_TRUE(intact_) << "bytes arrived that were not written";
    return done;
  }

  std::uint64_t bytes_read() const {
    std::uint64_t bytes = 0;
    for (const auto& [key, flow] : flows_) bytes += flow.read;
    return bytes;
  }
  int paths_opened() const { return paths_opened_; }

 private:
  struct Flow {
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    bool reset = false;
  };

  static World::Options options(std::uint64_t seed, SeededRandom& random) {
    World::Options options{.seed = seed};
    if (seed % 2 == 0) {
      offer_multi_end(options.client, BackendKeyModes::k_all);
      offer_multi_end(options.server, BackendKeyModes::k_all);
    }
    for (std::size_t i = 0; i < k_interfaces; ++i) {
      options.links.push_back({.mtu = 1250 + random.below(300),
                               .queue_bytes = 30'000 + random.below(100'000),
                               .rate = 200'000 + random.below(3'000'000),
                               .loss = random.below(4) == 0 ? 0.03 : 0,
                               .duplication = random.below(8) == 0 ? 0.02 : 0,
                               .delay = std::chrono::milliseconds(1 + random.below(80)),
                               .jitter = std::chrono::milliseconds(random.below(5)),
                               .reordering = random.below(8) == 0 ? 0.05 : 0,
                               .reordering_delay = 15ms});
    }
    constexpr PathSchedulerKind k_kinds[] = {
        PathSchedulerKind::kEcf,       PathSchedulerKind::kMinRtt, PathSchedulerKind::kRoundRobin,
        PathSchedulerKind::kWeighted,  PathSchedulerKind::kBlest,  PathSchedulerKind::kRedundant,
        PathSchedulerKind::kBackupOnly};
    constexpr CongestionAlgorithm k_controllers[] = {
        CongestionAlgorithm::kNewReno, CongestionAlgorithm::kCubic, CongestionAlgorithm::kBbr,
        CongestionAlgorithm::kOlia};
    for (ConnectionConfig* config : {&options.client, &options.server}) {
      config->path_scheduler = k_kinds[random.below(std::size(k_kinds))];
      config->congestion.algorithm = k_controllers[random.below(std::size(k_controllers))];
      // After a rebinding of every path, the server hears from the client again.
      config->keep_alive = 400ms;
      config->max_idle_timeout = 120s;
    }
    return options;
  }

  bool ended() const { return !end_.empty(); }
  bool all_arrived() const {
    for (const auto& [key, flow] : flows_) {
      if (!flow.reset && flow.read != flow.written) return false;
    }
    return true;
  }
  Connection& any_side() { return random_.below(2) ? world_.client() : world_.server(); }
  PathId any_path() {
    const auto paths = world_.client().paths().stats();
    return paths.empty() ? PathId{0} : paths[random_.below(paths.size())].id;
  }

  void operate() {
    switch (random_.below(16)) {
      case 0:
      case 1:
        return static_cast<void>(world_.client().paths().open(
            World::addresses(random_.below(k_interfaces)), world_.now()));
      case 2:
        return abandon();
      case 3:
        return static_cast<void>(any_side().paths().set_status(
            any_path(), random_.below(2) ? PathStatus::kBackup : PathStatus::kAvailable,
            world_.now()));
      case 4:
        return static_cast<void>(any_side().initiate_key_update(world_.now()));
      case 5:
        return static_cast<void>(any_side().paths().rotate_connection_id(any_path()));
      case 6:
        return world_.set_down(random_.below(k_interfaces), random_.below(3) == 0);
      case 7:
        return rebind();
      case 8:
        return static_cast<void>(
            any_side().datagrams().send(std::vector<std::uint8_t>(random_.below(900), 1), 1));
      case 9:
        return any_side().ping(world_.now());
      case 10:
        return reset();
      case 11:
        return static_cast<void>(any_side().paths().set_weight(
            any_path(), static_cast<std::uint32_t>(random_.below(5))));
      default:
        return write();
    }
  }

  void abandon() {
    // Only the client abandons, and never the last path that works, which would end the connection.
    const PathId id = any_path();
    int others = 0;
    for (const PathStats& path : world_.client().paths().stats()) {
      others += path.id != id && path.state == PathState::kActive && path.validated;
    }
    if (others > 0) static_cast<void>(world_.client().paths().abandon(id, 0x3e, world_.now()));
  }
  void rebind() {
    const std::size_t interface = random_.below(k_interfaces);
    Address seen = World::addresses(interface).local;
    seen.port = next_port_++;
    world_.simulation.rebind(*world_.links[interface], seen);
  }
  void heal() {
    for (std::size_t i = 0; i < k_interfaces; ++i) world_.set_down(i, false);
  }

  using Key = std::pair<Role, std::uint64_t>;  // of the sender
  void write() {
    const Role role = random_.below(2) ? Role::kClient : Role::kServer;
    Connection& connection = world_.pair->host(role).connection;
    StreamId id{};
    if (flows_.size() < 8 || random_.below(4) == 0) {
      const auto opened = connection.streams().writer().open(Directionality::kUnidirectional);
      if (!opened) return;
      id = *opened;
    } else {
      auto chosen = flows_.begin();
      std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(flows_.size())));
      if (chosen->first.first != role || chosen->second.reset) return;
      id.value = chosen->first.second;
    }
    Flow& flow = flows_[{role, id.value}];
    std::vector<std::uint8_t> bytes(random_.below(60'000));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(id, flow.written + i);
    if (connection.streams().writer().write(id, SendChunk::copy_of(bytes), false))
      flow.written += bytes.size();
  }
  void reset() {
    if (flows_.empty()) return;
    auto chosen = flows_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(flows_.size())));
    chosen->second.reset = true;
    static_cast<void>(world_.pair->host(chosen->first.first)
                          .connection.streams()
                          .writer()
                          .reset(StreamId{chosen->first.second}, 5));
  }
  static std::uint8_t byte_at(StreamId id, std::uint64_t offset) {
    return static_cast<std::uint8_t>(id.value * 31 + offset + (offset >> 8));
  }

  void on_event(Role role, const Event& event, Time now) {
    confirmed_ |= std::holds_alternative<HandshakeConfirmedEvent>(event) && role == Role::kClient;
    if (const auto* closed = std::get_if<ConnectionClosed>(&event)) {
      end_ = "ended: " + std::to_string(closed->error) + " " + closed->reason;
    }
    paths_opened_ += std::holds_alternative<PathOpenedEvent>(event);
    const auto* stream = std::get_if<StreamEvent>(&event);
    if (!stream || stream->kind != StreamEvent::Kind::kReadable) return;
    Connection& connection = world_.pair->host(role).connection;
    Flow& flow = flows_[{peer_of(role), stream->stream.value}];
    for (;;) {
      const Bytes bytes = connection.streams().reader().peek(stream->stream);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        intact_ &= bytes[i] == byte_at(stream->stream, flow.read + i);
      }
      const auto result = connection.streams().reader().consume(stream->stream, bytes.size(), now);
      if (!result || result->bytes == 0) return;
      flow.read += result->bytes;
    }
  }

  SeededRandom random_;
  World world_;
  std::map<Key, Flow> flows_;
  std::string end_;
  int paths_opened_ = 0;
  std::uint16_t next_port_ = 51'000;
  bool confirmed_ = false;
  bool intact_ = true;
};

std::vector<std::uint64_t> seeds_of_this_run() {
  if (const char* replay = std::getenv("SHEAF_RANDOM_OPERATIONS_SEED")) {
    return {std::strtoull(replay, nullptr, 10)};
  }
  std::vector<std::uint64_t> seeds;
  for (int seed = 1; seed <= k_cases; ++seed) seeds.push_back(static_cast<std::uint64_t>(seed));
  std::random_device fresh;
  for (int i = 0; i < k_new_cases; ++i) seeds.push_back(fresh());
  return seeds;
}

TEST(RandomOperations, LoseNothing) {
  int operations = 0, paths = 0;
  std::uint64_t bytes = 0;
  const std::vector<std::uint64_t> seeds = seeds_of_this_run();
  for (const std::uint64_t seed : seeds) {
    if (seed > k_cases) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    Case random_case(seed);
    operations += random_case.run();
    bytes += random_case.bytes_read();
    paths += random_case.paths_opened();
    if (HasFailure()) {
      ADD_FAILURE() << "replay with SHEAF_RANDOM_OPERATIONS_SEED=" << seed;
      return;
    }
  }
  std::printf("%d operations, %d paths, %.1f MB\n", operations, paths,
              static_cast<double>(bytes) / 1e6);
  if (seeds.size() > 1) {
    EXPECT_GE(paths, 2 * k_cases);
    EXPECT_GE(operations, 10'000);
  }
}

}  // namespace
}  // namespace sheaf::quic
