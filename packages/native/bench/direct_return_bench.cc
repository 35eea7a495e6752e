// Direct server return in virtual time, for `sheaf bench direct-return --sim`:
//   direct_return_bench download return|own-recovery|proxied SEED RUNS < SETTING
//   direct_return_bench fairness SEED RUNS < SETTING
//   direct_return_bench faults FAULT KEY_UPDATE SEED RUNS
//   direct_return_bench numbers ranges|runs|connection CLIENT SEED RUNS < SETTING
// `numbers` shows how a client, one of sim/receivers/all_receivers.h, treats the packet numbers of
// several senders: of backends that spend ranges of their own, of runs (both without contents), or
// of the whole engine. The setting has a line for each of (delays one way in ms, rates in Mbit/s,
// 0: no limit):
//   access RATE DELAY QUEUE_BYTES JITTER          everything of the client crosses it
//   gateway DELAY                                 between the gateway and the access link
//   backend ORDER_DELAY WAY                       to the gateway, and to the access link
//   queue drop-tail|codel                         of the access link; CoDel marks or drops
//   ecn 0|1                                       whether the servers use ECN
//   loss SHARE                                    of the access link, in both directions
//   queue_packets PACKETS                         limit of its queue besides that in bytes
//   download BYTES                                from the first backend
//   seconds WARM_UP COUNTED
//   own_recovery 0|1                              backends have paths of their own (mode Q)
//   places DELAY                                  as FairnessSetting::places
//   plain_at_gateway 0|1                          as FairnessSetting::plain_at_gateway
//   packets COUNT LENGTH                          of ranges and runs: packets in all, numbers in
//   each waits 0|1                                     whether runs wait for farther ones before
//   them hold DELAY                                    as SharedNumbers::hold
// Prints one JSON line for each run; the run with index i has the seed SEED + i and replays with
// it.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "emulation/units.h"
#include "setting_lines.h"
#include "sim/direct_return/equalised_runs.h"
#include "sim/direct_return/fairness_run.h"
#include "sim/direct_return/receiver_run.h"
#include "sim/direct_return/return_fault_run.h"
#include "sim/receivers/all_receivers.h"

namespace {

using namespace sheaf::quic;

struct Setting {
  ReturnNetwork::Options network;
  Duration warm_up{};
  Duration counted{};
  Duration places{};
  bool plain_at_gateway = false;
  std::uint64_t bytes = 0;
  std::size_t packets = 0;
  std::size_t length = 0;
  Duration hold{};
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "direct_return_bench: %s\n", why.c_str());
  std::exit(2);
}

double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Duration milliseconds(double value) { return Duration(static_cast<std::int64_t>(value * 1e6)); }

void read_access(std::istream& in, Setting& setting) {
  double mbps = 0, delay = 0, jitter = 0;
  std::size_t queue = 0;
  in >> mbps >> delay >> queue >> jitter;
  LinkConfig& access = setting.network.access;
  access.rate = static_cast<std::uint64_t>(mbps * 125'000);
  access.delay = milliseconds(delay);
  access.queue_bytes = queue;
  access.jitter = milliseconds(jitter);
}

void read_gateway(std::istream& in, Setting& setting) {
  double delay = 0;
  in >> delay;
  setting.network.gateway_way = milliseconds(delay);
}

void read_backend(std::istream& in, Setting& setting) {
  double order = 0, way = 0;
  in >> order >> way;
  setting.network.backends.push_back({.order = milliseconds(order), .way = milliseconds(way)});
}

void read_queue(std::istream& in, Setting& setting) {
  std::string discipline;
  in >> discipline;
  if (discipline != "drop-tail" && discipline != "codel") in.setstate(std::ios::failbit);
  setting.network.access.queue_discipline =
      discipline == "codel" ? QueueDisciplineKind::kCoDel : QueueDisciplineKind::kDropTail;
}

void read_loss(std::istream& in, Setting& setting) { in >> setting.network.access.loss; }

void read_queue_packets(std::istream& in, Setting& setting) {
  in >> setting.network.access.queue_packets;
}

void read_download(std::istream& in, Setting& setting) { in >> setting.bytes; }

void read_ecn(std::istream& in, Setting& setting) { in >> setting.network.gateway.use_ecn; }

void read_own_recovery(std::istream& in, Setting& setting) { in >> setting.network.own_recovery; }

void read_seconds(std::istream& in, Setting& setting) {
  double warm_up = 0, counted = 0;
  in >> warm_up >> counted;
  setting.warm_up = milliseconds(warm_up * 1e3);
  setting.counted = milliseconds(counted * 1e3);
}

void read_places(std::istream& in, Setting& setting) {
  double within = 0;
  in >> within;
  setting.places = milliseconds(within);
}

void read_plain_at_gateway(std::istream& in, Setting& setting) { in >> setting.plain_at_gateway; }

void read_packets(std::istream& in, Setting& setting) { in >> setting.packets >> setting.length; }

void read_waits(std::istream& in, Setting& setting) { in >> setting.network.backends_wait; }

void read_hold(std::istream& in, Setting& setting) {
  double hold = 0;
  in >> hold;
  setting.hold = milliseconds(hold);
}

Setting read_setting(std::istream& lines) {
  const LineReaders<Setting> readers{{"access", read_access},
                                     {"gateway", read_gateway},
                                     {"backend", read_backend},
                                     {"queue", read_queue},
                                     {"queue_packets", read_queue_packets},
                                     {"loss", read_loss},
                                     {"ecn", read_ecn},
                                     {"download", read_download},
                                     {"hold", read_hold},
                                     {"packets", read_packets},
                                     {"own_recovery", read_own_recovery},
                                     {"seconds", read_seconds},
                                     {"waits", read_waits},
                                     {"places", read_places},
                                     {"plain_at_gateway", read_plain_at_gateway}};
  Setting setting;
  if (const auto line = read_lines(lines, readers, setting)) refuse("not understood: " + *line);
  return setting;
}

// Downloads once, until the end or for the time that counts. The clock begins with the request, on
// a connection that has measured its round trip.
void download(ReturnNetwork::Options options, const Setting& setting, std::uint64_t seed) {
  // What a head of a response takes; proxied responses have it, too.
  constexpr std::uint64_t k_head = 100;
  options.head = k_head;
  ReturnNetwork network(seed, options);
  network.request(network.backends.size(), 1000);
  network.simulation.run_until([&] { return network.all_finished(); }, setting.counted);
  const ReturnNetwork::Response& response = network.response(network.request(0, setting.bytes));
  network.simulation.run_until([&] { return response.finished; }, setting.counted);
  if (!response.intact || response.received == 0) refuse("nothing arrived, or something wrong");
  const Time end = response.finished ? response.finished_at : network.simulation.now();
  const ReturnNetwork::Traffic traffic = network.traffic();
  std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64
              "\",\"first_ms\":%.4f,\"first_body_ms\":%.4f,\"ms\":%.4f,\"bytes\":%" PRIu64
              ",\"finished\":%s,\"packets\":%" PRIu64 ",\"lost\":%" PRIu64 "}\n",
              seed, network.simulation.digest(), to_ms(response.first_at - response.asked_at),
              to_ms(response.first_body_at - response.asked_at), to_ms(end - response.asked_at),
              response.received, response.finished ? "true" : "false", traffic.packets,
              traffic.lost);
}

int downloads(const std::string& delivery, const Setting& setting, std::uint64_t seed,
              std::uint64_t runs) {
  const bool own_recovery = delivery == "own-recovery";
  if (delivery != "return" && delivery != "proxied" && !own_recovery) {
    refuse("no such delivery: " + delivery);
  }
  if (setting.network.backends.empty() || setting.bytes == 0) refuse("no backend or no download");
  ReturnNetwork::Options options = setting.network;
  options.proxied = delivery == "proxied";
  options.own_recovery = own_recovery;
  for (std::uint64_t run = 0; run < runs; ++run) download(options, setting, seed + run);
  return 0;
}

// Returns how the numbers of `setting` are shared, at the rate of its access link.
SharedNumbers shared_numbers(const Setting& setting, SharedNumbers::Sending sending) {
  constexpr std::uint64_t k_packet = 1452;  // bytes
  const ReturnNetwork::Options& network = setting.network;
  return {.senders = network.backends.size(),
          .run = setting.length,
          .sending = sending,
          .rate = network.access.rate / k_packet,
          .delay = network.access.delay,
          .spread = network.backends.back().way - network.backends.front().way,
          .hold = setting.hold,
          .packets = setting.packets,
          .jitter = network.access.jitter};
}

void print_numbers(std::uint64_t seed, const ReceiverModel& client,
                   const ReceiverRunResult& result) {
  std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\",\"packets\":%" PRIu64
              ",\"refused\":%" PRIu64 ",\"repeated_bytes\":%" PRIu64
              ",\"acknowledgements\":%" PRIu64
              ",\"most_ranges\":%zu,\"closed\":%s,\"finished\":%s,\"ms\":%.4f}\n",
              seed, result.digest, result.packets, result.refused, result.repeated,
              result.acknowledgements, result.most_ranges, client.closed() ? "true" : "false",
              result.finished ? "true" : "false", to_ms(result.time));
}

ReceiverRunResult deliver_numbers(const Setting& setting, SharedNumbers::Sending sending,
                                  ReceiverModel& client, std::uint64_t seed) {
  SharedNumbers numbers = shared_numbers(setting, sending);
  EqualisedRuns equalised(numbers.senders);
  const bool waits = setting.network.backends_wait;
  if (sending == SharedNumbers::Sending::kWholeRuns && waits) numbers.timing = &equalised;
  const SharedNumbersResult result = deliver(numbers, client, seed);
  return {.finished = true,
          .packets = numbers.packets,
          .refused = result.refused,
          .acknowledgements = result.acknowledgements,
          .most_ranges = result.most_ranges};
}

int numbers(const std::string& sending, const std::string& name, const Setting& setting,
            std::uint64_t seed, std::uint64_t runs) {
  const bool connection = sending == "connection";
  if (!connection && sending != "ranges" && sending != "runs") refuse("no such way: " + sending);
  if (setting.network.backends.empty()) refuse("no backend");
  if (connection ? setting.bytes == 0 : setting.packets == 0 || setting.length == 0) {
    refuse("nothing to send");
  }
  for (const std::uint64_t first = seed; seed < first + runs; ++seed) {
    const auto client = receiver_named(name, 2 * setting.network.access.delay);
    if (!client) refuse("no such client: " + name);
    const ReceiverRunResult result =
        connection
            ? run_receiver({.network = setting.network, .bytes = setting.bytes, .seed = seed},
                           *client)
            : deliver_numbers(setting,
                              sending == "runs" ? SharedNumbers::Sending::kWholeRuns
                                                : SharedNumbers::Sending::kOwnRanges,
                              *client, seed);
    if (connection && result.finished && !result.intact) refuse("something wrong arrived");
    print_numbers(seed, *client, result);
  }
  return 0;
}

int fairness(const Setting& setting, std::uint64_t seed, std::uint64_t runs) {
  for (std::uint64_t run = 0; run < runs; ++run) {
    const FairnessResult result = run_fairness({.network = setting.network,
                                                .warm_up = setting.warm_up,
                                                .counted = setting.counted,
                                                .places = setting.places,
                                                .plain_at_gateway = setting.plain_at_gateway,
                                                .seed = seed + run});
    std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64
                "\",\"share\":%.4f,\"bytes\":%" PRIu64 ",\"plain_bytes\":%" PRIu64
                ",\"packets\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"plain_packets\":%" PRIu64
                ",\"plain_lost\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"refused\":%" PRIu64 "}\n",
                seed + run, result.digest, result.share(), result.served.bytes, result.plain.bytes,
                result.served.packets, result.served.lost, result.plain.packets, result.plain.lost,
                result.runs, result.refused);
    std::fflush(stdout);
  }
  return 0;
}

int faults(ReturnFaultSetting setting, std::uint64_t runs) {
  for (const std::uint64_t first = setting.seed; setting.seed < first + runs; ++setting.seed) {
    const ReturnFaultResult result = run_return_fault(setting);
    std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64
                "\",\"requests\":%zu,\"failed\":%zu,\"bytes_wrong\":%" PRIu64
                ",\"stall_ms\":%.3f,\"bound_ms\":%.0f,\"lost\":%zu,\"proxied\":%zu"
                ",\"key_updates\":%" PRIu64 "}\n",
                setting.seed, result.digest, result.requests, result.failed, result.bytes_wrong,
                to_ms(result.longest_stall), to_ms(return_stall_bound(setting.fault)), result.lost,
                result.proxied, result.key_updates);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t at) { return std::strtoull(words[at].c_str(), nullptr, 10); };
  if (words.size() == 5 && words[0] == "faults") {
    const auto fault = return_fault_named(words[1]);
    if (!fault) refuse("no such fault: " + words[1]);
    return faults({.fault = *fault, .key_update = number(2) != 0, .seed = number(3)}, number(4));
  }
  const std::string experiment = words.empty() ? "" : words[0];
  const bool known = (experiment == "download" && words.size() == 4) ||
                     (experiment == "numbers" && words.size() == 5) ||
                     (experiment == "fairness" && words.size() == 3);
  if (!known) refuse("no such experiment");
  const Setting setting = read_setting(std::cin);
  if (experiment == "download") return downloads(words[1], setting, number(2), number(3));
  if (experiment == "numbers") return numbers(words[1], words[2], setting, number(3), number(4));
  return fairness(setting, number(1), number(2));
}
