// Page loads in virtual time, for `sheaf bench pages --sim`:
//   pages_bench SEED RUNS [CLIENTS] < SETTING
// The setting has a line for each of (times in ms, rates in Mbit/s, shares between 0 and 1):
//   schedulers STREAM_SCHEDULER PATH_SCHEDULER REPEATS_LATE CONTROLLER
//   server RATE
//   link MIN_RATE MAX_RATE DELAY JITTER LOSS LOSS_CORRELATION JITTER_CORRELATION QUEUE_BYTES NETEM
//     NETEM 1: correlated draws are averaged, and jitter reorders packets
//   warm COUNT BYTES
//   group NODE PARENT WEIGHT
//   resource BYTES URGENCY INCREMENTAL NODE PARENT WEIGHT EXCLUSIVE
// Prints one JSON line for each run; the run with index i has the seed SEED + i and replays with
// it. Several clients load the page at one time, each from its own server, over the same links.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "emulation/units.h"
#include "setting_lines.h"
#include "sim/addresses.h"
#include "sim/page_load.h"

namespace {

using namespace sheaf::quic;

constexpr std::size_t k_packet = 1350;
constexpr std::size_t k_max_clients = 64;
constexpr Duration k_limit = std::chrono::seconds(120);

struct LinkSetting {
  double least_mbps = 0, most_mbps = 0;
  double delay_ms = 0, jitter_ms = 0;
  double loss = 0, loss_correlation = 0, jitter_correlation = 0;
  std::size_t queue_bytes = 0;
  bool netem = false;
};

// How one side sends. All clients send in the same way, since it is the same browser for all
// servers.
struct Sender {
  StreamSchedulerKind streams = StreamSchedulerKind::kExtensible;
  PathSchedulerKind paths = PathSchedulerKind::kMinRtt;
  bool repeats_late = false;
  CongestionAlgorithm controller = CongestionAlgorithm::kOlia;
};

struct Setting {
  Sender server;
  double server_mbps = 0;
  std::vector<LinkSetting> links;
  Page warm, page;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "pages_bench: %s\n", why.c_str());
  std::exit(2);
}

const std::map<std::string, PathSchedulerKind> k_path_schedulers{
    {"ecf", PathSchedulerKind::kEcf},
    {"min-rtt", PathSchedulerKind::kMinRtt},
    {"round-robin", PathSchedulerKind::kRoundRobin},
    {"blest", PathSchedulerKind::kBlest}};

const std::map<std::string, CongestionAlgorithm> k_controllers{{"olia", CongestionAlgorithm::kOlia},
                                                               {"bbr", CongestionAlgorithm::kBbr}};

// --- the setting --------------------------------------------------------------------------------

void read_schedulers(std::istream& in, Setting& setting) {
  std::string streams, paths, controller;
  in >> streams >> paths >> setting.server.repeats_late >> controller;
  const auto kind = stream_scheduler_named(streams);
  const auto path_kind = k_path_schedulers.find(paths);
  const auto algorithm = k_controllers.find(controller);
  if (!kind || path_kind == k_path_schedulers.end()) refuse("no such scheduler");
  if (algorithm == k_controllers.end()) refuse("no such controller");
  setting.server.streams = *kind;
  setting.server.paths = path_kind->second;
  setting.server.controller = algorithm->second;
}

void read_link(std::istream& in, Setting& setting) {
  LinkSetting link;
  in >> link.least_mbps >> link.most_mbps >> link.delay_ms >> link.jitter_ms >> link.loss >>
      link.loss_correlation >> link.jitter_correlation >> link.queue_bytes >> link.netem;
  setting.links.push_back(link);
}

void read_warm(std::istream& in, Setting& setting) {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  in >> count >> bytes;
  setting.warm.resources.assign(count, {.bytes = bytes, .priority = {}});
}

void read_group(std::istream& in, Setting& setting) {
  Dependency group;
  in >> group.node >> group.parent >> group.weight;
  setting.page.groups.push_back(group);
}

void read_resource(std::istream& in, Setting& setting) {
  PageResource resource;
  unsigned urgency = 0;
  Dependency& dependency = resource.priority.dependency;
  in >> resource.bytes >> urgency >> resource.priority.incremental >> dependency.node >>
      dependency.parent >> dependency.weight >> dependency.exclusive;
  resource.priority.urgency = static_cast<std::uint8_t>(urgency);
  setting.page.resources.push_back(resource);
}

Setting read_setting(std::istream& lines) {
  const LineReaders<Setting> readers{
      {"schedulers", read_schedulers},
      {"server", [](std::istream& in, Setting& setting) { in >> setting.server_mbps; }},
      {"link", read_link},
      {"warm", read_warm},
      {"group", read_group},
      {"resource", read_resource}};
  Setting setting;
  if (const auto line = read_lines(lines, readers, setting)) refuse("not understood: " + *line);
  if (setting.links.empty() || setting.page.resources.empty()) refuse("no link or no resource");
  return setting;
}

// --- one run ------------------------------------------------------------------------------------

std::uint64_t bytes_per_second(double mbps) { return static_cast<std::uint64_t>(mbps * 125'000); }
Duration from_ms(double ms) { return Duration(static_cast<std::int64_t>(ms * 1e6)); }
double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

LinkConfig config_of(const LinkSetting& link, double mbps) {
  LinkConfig config;
  config.queue_bytes = link.queue_bytes;
  config.rate = bytes_per_second(mbps);
  config.loss = link.loss;
  config.loss_correlation = link.loss_correlation;
  // Jitter is on both sides of the delay, as in netem.
  config.delay = from_ms(link.delay_ms - link.jitter_ms);
  config.jitter = from_ms(2 * link.jitter_ms);
  config.jitter_correlation = link.jitter_correlation;
  config.jitter_reorders = link.netem;
  if (link.netem) config.correlation_kind = CorrelationKind::kAverages;
  return config;
}

ConnectionConfig connection_config(const Sender& sender) {
  ConnectionConfig config;
  config.streams.scheduler = sender.streams;
  config.path_scheduler = sender.paths;
  config.repeat_late = sender.repeats_late;
  config.congestion.algorithm = sender.controller;
  config.congestion.initial_window_packets = 32;
  config.streams.initial_connection_window = config.streams.max_connection_window = 15'728'640;
  config.streams.initial_stream_window = config.streams.max_stream_window = 6'291'456;
  config.initial_udp_payload_size = config.max_udp_payload_size = k_packet;
  config.discover_mtu = false;
  config.max_ack_delay = 25ms;
  return config;
}

// A client and its server.
class Visitor {
 public:
  Visitor(Simulation& simulation, const Setting& setting, std::size_t number)
      : simulation_(simulation),
        pair_(simulation, {.client = connection_config({}),
                           .server = connection_config(setting.server),
                           .path = addresses(number, 0),
                           .client_name = "client " + std::to_string(number),
                           .server_name = "server " + std::to_string(number)}),
        number_(number) {
    pair_.client.on_event = [this](const Event& event, Time) {
      confirmed_ |= std::holds_alternative<HandshakeConfirmedEvent>(event);
      validated_ += std::holds_alternative<PathValidatedEvent>(event);
      abandoned_ += std::holds_alternative<PathAbandonedEvent>(event);
    };
  }

  static AddressPair addresses(std::size_t number, std::size_t interface) {
    const auto third = static_cast<std::uint8_t>(number);
    return {ipv4({10, static_cast<std::uint8_t>(interface), third, 1}, 50'000),
            ipv4({10, 255, third, 1}, 443)};
  }

  bool confirmed() const { return confirmed_; }
  void open_path(std::size_t interface) {
    const Time now = simulation_.now();
    if (!pair_.client.connection.paths().open(addresses(number_, interface), now)) {
      refuse("a path cannot be opened");
    }
  }
  std::size_t validated() const { return validated_; }
  // Attempts to open a path whose probes were all lost.
  std::size_t abandoned() const { return abandoned_; }
  void load(const Page& page) { load_ = std::make_unique<PageLoad>(pair_, page); }
  const PageLoad& page_load() const { return *load_; }
  std::vector<PathStats> server_paths() const { return pair_.server.connection.paths().stats(); }

 private:
  Simulation& simulation_;
  ConnectionPair pair_;
  std::size_t number_;
  bool confirmed_ = false;
  std::size_t validated_ = 0;
  std::size_t abandoned_ = 0;
  std::unique_ptr<PageLoad> load_;
};

class Run {
 public:
  Run(const Setting& setting, std::uint64_t seed, std::size_t clients) : simulation_(seed) {
    SeededRandom random(seed);
    const std::size_t trunk =
        simulation_.add_trunk({.rate = bytes_per_second(setting.server_mbps)});
    for (const LinkSetting& link : setting.links) {
      rates_.push_back(link.least_mbps + random.uniform() * (link.most_mbps - link.least_mbps));
    }
    for (std::size_t number = 0; number < clients; ++number) {
      connect(setting, number, trunk);
      visitors_.push_back(std::make_unique<Visitor>(simulation_, setting, number));
    }
    run_until([](const Visitor& visitor) { return visitor.confirmed(); });
    for (std::size_t interface = 1; interface < setting.links.size(); ++interface) {
      for (const auto& visitor : visitors_) open_path(*visitor, interface);
    }
    if (!setting.warm.resources.empty()) load(setting.warm);
    load(setting.page);
  }

  void print() const {
    std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\",\"rates_mbps\":[",
                simulation_.seed(), simulation_.digest());
    print_list(rates_, [](double rate) { std::printf("%.4f", rate); });
    std::printf("],\"clients\":[");
    print_list(visitors_, [](const auto& visitor) { print(*visitor); });
    std::printf("]}\n");
  }

 private:
  void connect(const Setting& setting, std::size_t number, std::size_t trunk) {
    const NetworkNode server{"server " + std::to_string(number),
                             Visitor::addresses(number, 0).remote};
    for (std::size_t interface = 0; interface < setting.links.size(); ++interface) {
      const NetworkNode client{"client " + std::to_string(number),
                               Visitor::addresses(number, interface).local};
      if (number > 0) {
        simulation_.share(*paths_[interface], client, server);
        continue;
      }
      const LinkConfig config = config_of(setting.links[interface], rates_[interface]);
      paths_.push_back(&simulation_.connect(client, server, config));
      simulation_.lead_through(*paths_.back(), trunk);
    }
  }

  // Bursts of loss can swallow every probe of a path. A client opens it again, as an edge does.
  void open_path(Visitor& visitor, std::size_t interface) {
    while (visitor.validated() < interface) {
      const std::size_t abandoned = visitor.abandoned();
      visitor.open_path(interface);
      run_until([&](const Visitor& one) {
        return &one != &visitor || one.validated() >= interface || one.abandoned() > abandoned;
      });
    }
  }

  void load(const Page& page) {
    for (const auto& visitor : visitors_) visitor->load(page);
    run_until([](const Visitor& visitor) { return visitor.page_load().finished(); });
    for (const auto& visitor : visitors_) {
      if (!visitor->page_load().intact()) refuse("bytes arrived that were not sent");
    }
  }

  // Runs until all visitors have reached a state.
  void run_until(const std::function<bool(const Visitor&)>& reached) {
    const auto all = [&] {
      return std::ranges::all_of(visitors_, [&](const auto& one) { return reached(*one); });
    };
    const Simulation::Outcome outcome = simulation_.run_until(all, k_limit);
    if (outcome == Simulation::Outcome::kReached) return;
    std::ostringstream why;
    why << "a page is not loaded: " << outcome << ", seed " << simulation_.seed();
    refuse(why.str());
  }

  template <typename List, typename Print>
  static void print_list(const List& list, const Print& print_one) {
    bool is_first = true;
    for (const auto& one : list) {
      if (!std::exchange(is_first, false)) std::printf(",");
      print_one(one);
    }
  }

  static void print(const Visitor& visitor) {
    const PageLoad& load = visitor.page_load();
    std::printf("{\"plt_ms\":%.3f,\"byte_index_ms\":%.3f,\"first_ms\":[",
                to_ms(load.page_load_time()), to_ms(load.byte_index()));
    print_list(load.timings(), [](const auto& one) { std::printf("%.3f", to_ms(one.first_byte)); });
    std::printf("],\"done_ms\":[");
    print_list(load.timings(), [](const auto& one) { std::printf("%.3f", to_ms(one.completed)); });
    std::printf("],\"paths\":[");
    print_list(visitor.server_paths(), [](const PathStats& path) {
      std::printf("{\"bytes\":%" PRIu64 ",\"packets\":%" PRIu64 ",\"lost\":%" PRIu64 "}",
                  path.bytes_sent, path.packets_sent, path.packets_lost);
    });
    std::printf("]}");
  }

  Simulation simulation_;
  std::vector<double> rates_;
  std::vector<NetworkPath*> paths_;
  std::vector<std::unique_ptr<Visitor>> visitors_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) refuse("usage: pages_bench SEED RUNS [CLIENTS] < SETTING");
  const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t runs = std::strtoull(argv[2], nullptr, 10);
  const std::size_t clients = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (clients < 1 || clients > k_max_clients) refuse("from 1 to 64 clients");
  const Setting setting = read_setting(std::cin);
  for (std::uint64_t run = 0; run < runs; ++run) Run(setting, seed + run, clients).print();
  return 0;
}
