// One connection with several servers in virtual time, for `sheaf bench multi-end --sim`:
//   multi_end_bench transfers direct|proxied warm|cold SEED RUNS < SETTING
//   multi_end_bench faults FAULT per-path|shared KEY_UPDATE SEED RUNS
// The setting has a line for each of (delays one way in ms, rates in Mbit/s, 0: no limit):
//   access RATE QUEUE_BYTES                          everything of the client crosses it
//   primary RATE DELAY JITTER                        between client and primary
//   backend RATE DELAY JITTER PRIMARY_RATE PRIMARY_DELAY   to the client, and to the primary
//   transfer ANSWER_BYTES UPLOAD_BYTES BACKEND             all are asked for at once
// Warm: every path to a backend was validated before the requests. Cold: the clock runs from the
// moment at which the connection to the primary is there, so hand-over and path validation count.
// Prints one JSON line for each run; the run with index i has the seed SEED + i and replays with
// it.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "emulation/units.h"
#include "multi_end/backends.h"
#include "setting_lines.h"
#include "sim/multi_end/fault_run.h"

namespace {

using namespace sheaf::quic;

constexpr Duration k_limit = std::chrono::seconds(120);
// Validated paths have been silent for this time when the requests are sent.
constexpr Duration k_pause = std::chrono::milliseconds(200);

struct Setting {
  MultiEndNetwork::Options network;
  std::vector<TransferWanted> transfers;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "multi_end_bench: %s\n", why.c_str());
  std::exit(2);
}

double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// --- the setting --------------------------------------------------------------------------------

LinkConfig link_of(double mbps, double delay_ms, double jitter_ms) {
  LinkConfig config;
  config.rate = static_cast<std::uint64_t>(mbps * 125'000);
  config.delay = Duration(static_cast<std::int64_t>(delay_ms * 1e6));
  config.jitter = Duration(static_cast<std::int64_t>(jitter_ms * 1e6));
  // As large as that of a switch, so that it limits no transfer here.
  config.queue_bytes = 4096_kib;
  return config;
}

void read_access(std::istream& in, Setting& setting) {
  double mbps = 0;
  std::size_t queue_bytes = 0;
  in >> mbps >> queue_bytes;
  setting.network.access = link_of(mbps, 0, 0);
  setting.network.access->queue_bytes = queue_bytes;
}

void read_primary(std::istream& in, Setting& setting) {
  double mbps = 0, delay_ms = 0, jitter_ms = 0;
  in >> mbps >> delay_ms >> jitter_ms;
  setting.network.primary = link_of(mbps, delay_ms, jitter_ms);
}

void read_backend(std::istream& in, Setting& setting) {
  double mbps = 0, delay_ms = 0, jitter_ms = 0, primary_mbps = 0, primary_delay_ms = 0;
  in >> mbps >> delay_ms >> jitter_ms >> primary_mbps >> primary_delay_ms;
  setting.network.backends.push_back(
      {.client = link_of(mbps, delay_ms, jitter_ms),
       .primary = link_of(primary_mbps, primary_delay_ms, jitter_ms)});
}

void read_transfer(std::istream& in, Setting& setting) {
  TransferWanted wanted;
  std::size_t backend = 0;
  in >> wanted.length >> wanted.upload >> backend;
  wanted.backend = backend;
  setting.transfers.push_back(wanted);
}

Setting read_setting(std::istream& lines) {
  const LineReaders<Setting> readers{{"access", read_access},
                                     {"primary", read_primary},
                                     {"backend", read_backend},
                                     {"transfer", read_transfer}};
  Setting setting;
  if (const auto line = read_lines(lines, readers, setting)) refuse("not understood: " + *line);
  if (setting.network.backends.empty() || setting.transfers.empty())
    refuse("no backend or no transfer");
  for (const TransferWanted& wanted : setting.transfers) {
    if (*wanted.backend >= setting.network.backends.size())
      refuse("a transfer from an unknown backend");
  }
  offer_multi_end(setting.network.client, BackendKeyModes::k_per_path);
  offer_multi_end(setting.network.server, BackendKeyModes::k_per_path);
  return setting;
}

// --- transfers ----------------------------------------------------------------------------------

class Run {
 public:
  Run(const Setting& setting, MultiEndClient::Delivery delivery, bool cold, std::uint64_t seed)
      : simulation_(seed), network_(simulation_, setting.network), client_(simulation_, delivery) {
    client_.use(network_);
    started_ = simulation_.now();
    // Only requests to backends need their paths.
    if (!cold || delivery == MultiEndClient::Delivery::kDirect) {
      run_until([&] { return network_.open_paths() == network_.backends(); });
    }
    if (!cold) {
      // The random time varies the phase of the timers.
      SeededRandom random(seed);
      simulation_.run_for(k_pause + Duration(random.below(1'000'000)));
      started_ = simulation_.now();
    }
    for (const TransferWanted& wanted : setting.transfers) client_.start(wanted);
    run_until([&] { return std::ranges::all_of(client_.transfers(), &Transfer::done); });
    check(delivery);
  }

  void print() const {
    std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\",\"first_ms\":[",
                simulation_.seed(), simulation_.digest());
    print_list([&](const Transfer& one) { return *one.first_byte - started_; });
    std::printf("],\"done_ms\":[");
    print_list([&](const Transfer& one) { return *one.completed - started_; });
    std::printf("]}\n");
  }

 private:
  void run_until(const std::function<bool()>& reached) {
    const Simulation::Outcome outcome = simulation_.run_until(reached, k_limit);
    if (outcome == Simulation::Outcome::kReached) return;
    std::ostringstream why;
    why << "not finished: " << outcome << ", seed " << simulation_.seed();
    refuse(why.str());
  }

  // Checks that everything has arrived, and in the way that is measured.
  void check(MultiEndClient::Delivery delivery) {
    for (const Transfer& transfer : client_.transfers()) {
      if (transfer.failed || !transfer.intact || transfer.attempts != 1 ||
          transfer.received != transfer.wanted.length) {
        refuse("a transfer is not what was asked for");
      }
    }
    std::uint64_t at_backends = 0;
    for (std::size_t i = 0; i < network_.backends(); ++i) {
      // A fast proxied response may precede the hand-over.
      const auto* connection = network_.backend(i).connection();
      if (connection) at_backends += connection->stats().streams_total;
    }
    const bool direct = delivery == MultiEndClient::Delivery::kDirect;
    if (at_backends != (direct ? client_.transfers().size() : 0)) refuse("it went another way");
  }

  template <typename Value>
  void print_list(const Value& value) const {
    bool is_first = true;
    for (const Transfer& transfer : client_.transfers()) {
      std::printf("%s%.4f", std::exchange(is_first, false) ? "" : ",", to_ms(value(transfer)));
    }
  }

  Simulation simulation_;
  MultiEndNetwork network_;
  MultiEndClient client_;
  Time started_{};
};

int transfers(const std::string& delivery, const std::string& start, std::uint64_t seed,
              std::uint64_t runs) {
  if (delivery != "direct" && delivery != "proxied") refuse("no such delivery: " + delivery);
  if (start != "warm" && start != "cold") refuse("no such start: " + start);
  const Setting setting = read_setting(std::cin);
  for (std::uint64_t run = 0; run < runs; ++run) {
    Run(setting,
        delivery == "direct" ? MultiEndClient::Delivery::kDirect
                             : MultiEndClient::Delivery::kProxied,
        start == "cold", seed + run)
        .print();
  }
  return 0;
}

// --- faults -------------------------------------------------------------------------------------

int faults(FaultSetting setting, std::uint64_t runs) {
  for (const std::uint64_t first = setting.seed; setting.seed < first + runs; ++setting.seed) {
    const FaultResult result = run_fault(setting);
    std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64
                "\",\"finished\":%s,\"requests\":%zu,\"failed\":%zu,\"bytes_lost\":%" PRIu64
                ",\"repeated\":%u,\"resumed\":%u,\"key_updates\":%" PRIu64
                ",\"handshake_datagrams\":%" PRIu64 ",\"stall_ms\":%.3f,\"bound_ms\":%.0f}\n",
                setting.seed, result.digest, result.finished ? "true" : "false", result.requests,
                result.failed, result.bytes_lost, result.repeated, result.resumed,
                result.key_updates, result.handshake_datagrams, to_ms(result.longest_stall),
                to_ms(stall_bound(setting.fault)));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t at) { return std::strtoull(words[at].c_str(), nullptr, 10); };
  if (words.size() == 5 && words[0] == "transfers") {
    return transfers(words[1], words[2], number(3), number(4));
  }
  if (words.size() != 6 || words[0] != "faults") refuse("no such experiment");
  const auto fault = backend_fault_named(words[1]);
  if (!fault) refuse("no such fault: " + words[1]);
  if (words[2] != "per-path" && words[2] != "shared") refuse("no such keys: " + words[2]);
  return faults({.fault = *fault,
                 .keys = words[2] == "shared" ? KeyMode::kShared : KeyMode::kPerPath,
                 .key_update = number(3) != 0,
                 .seed = number(4)},
                number(5));
}
