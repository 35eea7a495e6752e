// `tunnel_bench SEED RUNS < SETTING`: a download through a tunnel, in virtual time. The setting has
// a line for each of
//   mode stream|stream-group|datagram|retransmit|forward
//   streams COUNT                     of a stream group
//   bytes COUNT                       of the download
//   spread SIGMA                      bytes are the median of a log-normal distribution
//   round_trips SERVER_MS TUNNEL_MS   client to server through the tunnel, client to tunnel
//   loss DOWN UP                      shares of the packets, between client and tunnel
//   rate MBPS                         between client and tunnel
//   trace PATH                        in place of the rate, towards the client, from a place that
//                                     the seed tells
//   congestion OUTER INNER            none|bbr_v1|bbr|cubic|new_reno
//   queue unbounded|codel|BYTES       at the tunnel
//   fair 0|1                          whether flows take turns there
//   repeats_first 0|1                 whether repeats overtake other packets there
//   tecc literal|mended WEIGHT        the server obeys reports, smoothed with this weight
//   drain SHARE PACKETS               of a round trip in which TECC drains a queue, and its
//   additive
//                                     part in packets
//   credit QUEUE WEIGHT FASTEST       in place of TECC's algorithm (tunnel/credit.h)
//   skips_outages 0|1                 whether credit ignores what was served in silence
//   tolerates 0|1                     whether servers adapt to repaired packets that come late
//   warm_start 0|1                    whether clients tell the rate with their request
//   probes_steadily 0|1               whether probes of the tunnel do not back off
//   idle_copies COUNT                 of packets in flight while the tunnel is idle
//   link_queue BYTES                  before the slow link
//   warm BYTES                        that another flow of the tunnel carries before
//   offset SECONDS                    begin here in the trace
//   limit SECONDS                     end of a run that does not finish
//   series 0|1                        1: prints samples of every 10 ms
// With lines for endless downloads, these take the place of the one.
//   flow TUNNEL SERVER_MS TUNNEL_MS START_S STOP_S
// Prints a JSON line for each run; the run with index i has the seed SEED + i and replays with it.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numbers>
#include <numeric>

#include "setting_lines.h"
#include "sim/tunnel/shared_run.h"
#include "sim/tunnel/tunnel_run.h"

namespace {

using namespace sheaf::quic;

struct BenchSetting {
  TunnelSetting tunnel;
  std::vector<SharingFlow> flows;
  double spread = 0;  // standard deviation of the logarithm of `bytes`
  bool series = false;
  TunnelWorldSetting& world() { return tunnel.world; }
  ObedienceConfig& obedience() {
    return world().obedience ? *world().obedience : world().obedience.emplace();
  }
};

template <typename Value>
void read_word(std::istream& in, const std::map<std::string, Value>& values, Value& value) {
  std::string word;
  in >> word;
  const auto found = values.find(word);
  if (found == values.end()) {
    in.setstate(std::ios::failbit);
  } else {
    value = found->second;
  }
}

void read_mode(std::istream& in, BenchSetting& setting) {
  static const std::map<std::string, TunnelMode> modes{{"stream", TunnelMode::kStream},
                                                       {"stream-group", TunnelMode::kStreamGroup},
                                                       {"datagram", TunnelMode::kDatagram},
                                                       {"retransmit", TunnelMode::kRetransmit},
                                                       {"forward", TunnelMode::kForward}};
  read_word(in, modes, setting.world().mode);
}

void read_streams(std::istream& in, BenchSetting& setting) {
  in >> setting.world().streams;
  if (setting.world().streams == 0) in.setstate(std::ios::failbit);
}

void read_bytes(std::istream& in, BenchSetting& setting) { in >> setting.tunnel.bytes; }

void read_spread(std::istream& in, BenchSetting& setting) { in >> setting.spread; }

void read_round_trips(std::istream& in, BenchSetting& setting) {
  double server = 0;
  double tunnel = 0;
  in >> server >> tunnel;
  setting.tunnel.server_round_trip = Duration(static_cast<std::int64_t>(server * 1e6));
  setting.tunnel.tunnel_round_trip = Duration(static_cast<std::int64_t>(tunnel * 1e6));
  if (tunnel <= 0 || tunnel > server) in.setstate(std::ios::failbit);
}

void read_loss(std::istream& in, BenchSetting& setting) {
  in >> setting.world().loss_down >> setting.world().loss_up;
}

void read_rate(std::istream& in, BenchSetting& setting) {
  double mbps = 0;
  in >> mbps;
  setting.world().rate = static_cast<std::uint64_t>(mbps * 125'000);
}

void read_trace(std::istream& in, BenchSetting& setting) {
  std::string path;
  in >> path;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const auto trace = CapacityTrace::parse(text.str());
  if (!file || !trace) return in.setstate(std::ios::failbit);
  setting.world().trace = std::make_shared<const CapacityTrace>(*trace);
}

void read_congestion(std::istream& in, BenchSetting& setting) {
  static const std::map<std::string, CongestionAlgorithm> algorithms{
      {"none", CongestionAlgorithm::kNone},
      {"bbr_v1", CongestionAlgorithm::kBbrV1},
      {"bbr", CongestionAlgorithm::kBbr},
      {"cubic", CongestionAlgorithm::kCubic},
      {"new_reno", CongestionAlgorithm::kNewReno}};
  read_word(in, algorithms, setting.world().outer);
  read_word(in, algorithms, setting.world().inner);
}

void read_queue(std::istream& in, BenchSetting& setting) {
  std::string word;
  in >> word;
  InnerPacketQueueConfig& queue = setting.world().queue;
  queue.codel = word == "codel";
  queue.limit = InnerPacketQueueConfig::k_unbounded;
  if (queue.codel || word == "unbounded") return;
  queue.limit = std::strtoull(word.c_str(), nullptr, 10);
  if (queue.limit == 0) in.setstate(std::ios::failbit);
}

void read_repeats_first(std::istream& in, BenchSetting& setting) {
  in >> setting.world().queue.repeats_first;
}
void read_tecc(std::istream& in, BenchSetting& setting) {
  static const std::map<std::string, TeccConfig::Units> units{
      {"literal", TeccConfig::Units::kLiteral}, {"mended", TeccConfig::Units::kMended}};
  TeccConfig& config = setting.obedience().tecc;
  read_word(in, units, config.units);
  in >> config.ewma_weight;
}

void read_drain(std::istream& in, BenchSetting& setting) {
  TeccConfig& config = setting.obedience().tecc;
  in >> config.drain_share >> config.additive_packets;
}

void read_credit(std::istream& in, BenchSetting& setting) {
  CreditConfig& config = setting.obedience().credit.emplace();
  in >> config.queue_share >> config.weight >> config.fastest;
}

void read_skips_outages(std::istream& in, BenchSetting& setting) {
  ObedienceConfig& config = setting.obedience();
  if (!config.credit) return in.setstate(std::ios::failbit);
  in >> config.credit->skips_outages;
}

void read_tolerates(std::istream& in, BenchSetting& setting) {
  in >> setting.obedience().tolerates_reordering;
}

void read_fair(std::istream& in, BenchSetting& setting) { in >> setting.world().fair; }
void read_warm_start(std::istream& in, BenchSetting& setting) { in >> setting.world().warm_start; }
void read_probes_steadily(std::istream& in, BenchSetting& setting) {
  in >> setting.world().probes_steadily;
}
void read_idle_copies(std::istream& in, BenchSetting& setting) {
  int count = 0;
  in >> count;
  setting.world().idle_copies = static_cast<std::uint8_t>(count);
}

Duration read_seconds(std::istream& in) {
  double seconds = 0;
  in >> seconds;
  return Duration(static_cast<std::int64_t>(seconds * 1e9));
}

void read_offset(std::istream& in, BenchSetting& setting) {
  setting.tunnel.trace_offset = read_seconds(in);
}
void read_limit(std::istream& in, BenchSetting& setting) {
  setting.tunnel.limit = read_seconds(in);
}

void read_flow(std::istream& in, BenchSetting& setting) {
  SharingFlow made;
  double server = 0;
  double tunnel = 0;
  in >> made.flow.tunnel >> server >> tunnel;
  made.flow.server_round_trip = Duration(static_cast<std::int64_t>(server * 1e6));
  made.flow.tunnel_round_trip = Duration(static_cast<std::int64_t>(tunnel * 1e6));
  made.start = read_seconds(in);
  made.stop = read_seconds(in);
  setting.flows.push_back(made);
}

void read_link_queue(std::istream& in, BenchSetting& setting) { in >> setting.world().link_queue; }
void read_warm(std::istream& in, BenchSetting& setting) { in >> setting.tunnel.warm_bytes; }
void read_series(std::istream& in, BenchSetting& setting) { in >> setting.series; }

double to_ms(Duration duration) { return to_seconds(duration) * 1e3; }

// Sorts the values.
double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <typename Of>
std::vector<double> numbers(const auto& items, Of&& of) {
  std::vector<double> made;
  made.reserve(items.size());
  for (const auto& item : items) made.push_back(of(item));
  return made;
}

// Returns for how long the queue at the tunnel was never empty, at most, in milliseconds.
double longest_queue(const std::vector<TunnelSample>& samples) {
  double longest = 0;
  std::size_t empty = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].queue_bytes == 0) empty = i;
    longest = std::max(longest, to_ms(samples[i].when - samples[empty].when));
  }
  return longest;
}

void print_series(const std::vector<TunnelSample>& samples) {
  std::printf(",\"series\":[");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const TunnelSample& sample = samples[i];
    std::printf("%s[%.0f,%zu,%" PRIu64 ",%" PRIu64 ",%.1f,%.1f,%" PRIu64 "]", i == 0 ? "" : ",",
                to_ms(sample.when - samples[0].when), sample.queue_bytes, sample.outer_rate,
                sample.inner_rate, to_ms(sample.outer_rtt), to_ms(sample.inner_rtt),
                sample.delivered);
  }
  std::printf("]");
}

void print(std::uint64_t seed, const TunnelResult& result, bool series) {
  std::vector<double> delays = numbers(result.delays, to_ms);
  std::vector<double> queue = numbers(result.samples, [](const TunnelSample& sample) {
    return static_cast<double>(sample.queue_bytes);
  });
  std::vector<double> inner_rtt =
      numbers(result.samples, [](const TunnelSample& sample) { return to_ms(sample.inner_rtt); });
  const double standing = longest_queue(result.samples);
  const double mean_delay = mean(delays);
  const double mean_queue = mean(queue);
  std::printf(
      "{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64
      "\",\"finished\":%s,\"completion_ms\":%.3f,\"bound_ms\":%.3f,\"received\":%" PRIu64
      ",\"delay_mean_ms\":%.3f,\"delay_p50_ms\":%.3f,\"delay_p95_ms\":%.3f"
      ",\"delay_p99_ms\":%.3f,\"inner_sent\":%" PRIu64 ",\"inner_lost\":%" PRIu64
      ",\"outer_sent\":%" PRIu64 ",\"outer_lost\":%" PRIu64 ",\"outer_repeats\":%" PRIu64
      ",\"queue_mean\":%.0f,\"queue_p50\":%.0f,\"queue_p95\":%.0f,\"queue_dropped\":%" PRIu64
      ",\"link_dropped\":%" PRIu64 ",\"link_sent\":%" PRIu64 ",\"outer_copies\":%" PRIu64
      ",\"reports\":%" PRIu64
      ",\"standing_ms\":%.0f,\"inner_rtt_max_ms\":%.3f"
      ",\"inner_rtt_p50_ms\":%.3f,\"inner_rtt_p95_ms\":%.3f",
      seed, result.digest, result.finished && result.intact ? "true" : "false",
      to_ms(result.completion), to_ms(result.bound), result.received, mean_delay,
      percentile(delays, 0.5), percentile(delays, 0.95), percentile(delays, 0.99),
      result.inner_sent, result.inner_lost, result.outer_sent, result.outer_lost,
      result.outer_repeats, mean_queue, percentile(queue, 0.5), percentile(queue, 0.95),
      result.queue_dropped, result.link_dropped, result.link_sent, result.outer_copies,
      result.reports, standing, percentile(inner_rtt, 1), percentile(inner_rtt, 0.5),
      percentile(inner_rtt, 0.95));
  if (series) print_series(result.samples);
  std::printf("}\n");
  std::fflush(stdout);
}

double jain(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(values.size()) * squares);
}

// Prints Jain's index of the flows that run in each stage, over its last half. A stage ends when a
// flow starts or stops.
void print_shared(std::uint64_t seed, const SharedSetting& setting, const SharedResult& result) {
  std::vector<double> marks{0, to_seconds(setting.length)};
  for (const SharingFlow& flow : setting.flows) {
    for (const Duration mark : {flow.start, flow.stop}) {
      if (mark < setting.length) marks.push_back(to_seconds(mark));
    }
  }
  std::ranges::sort(marks);
  std::printf("{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\",\"intact\":%s,\"stages\":[",
              seed, result.digest, result.intact ? "true" : "false");
  const char* separator = "";
  double total = 0;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    if (marks[i + 1] - marks[i] < 1) continue;
    const double window = (marks[i + 1] - marks[i]) / 2;
    const auto last = static_cast<std::size_t>(marks[i + 1]) - 1;
    const auto before = last - static_cast<std::size_t>(window);
    std::vector<double> rates;
    for (std::size_t flow = 0; flow < setting.flows.size(); ++flow) {
      const bool runs = to_seconds(setting.flows[flow].start) <= marks[i] &&
                        to_seconds(setting.flows[flow].stop) >= marks[i + 1];
      if (!runs) continue;
      rates.push_back(
          static_cast<double>(result.received[last][flow] - result.received[before][flow]) /
          static_cast<double>(last - before));
    }
    if (rates.empty()) continue;
    total = std::accumulate(rates.begin(), rates.end(), 0.) * 8e-6;
    std::printf("%s{\"end_s\":%.0f,\"flows\":%zu,\"jain\":%.5f,\"mbps\":%.3f}", separator,
                marks[i + 1], rates.size(), jain(rates), total);
    separator = ",";
  }
  std::vector<double> round_trips = numbers(result.round_trips, to_ms);
  std::printf("],\"rtt_p95_ms\":%.3f,\"received\":[", percentile(round_trips, 0.95));
  for (std::size_t i = 0; i < result.received.size(); ++i) {
    std::printf("%s[", i == 0 ? "" : ",");
    for (std::size_t flow = 0; flow < setting.flows.size(); ++flow) {
      std::printf("%s%" PRIu64, flow == 0 ? "" : ",", result.received[i][flow]);
    }
    std::printf("]");
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

// Draws from the distribution of sizes (Box and Muller, 1958), within a factor of 1000.
std::uint64_t draw_bytes(const BenchSetting& setting, std::uint64_t seed) {
  constexpr std::uint64_t steps = std::uint64_t{1} << 32;
  SeededRandom random(seed);
  const double first = (static_cast<double>(random.below(steps)) + 1) / static_cast<double>(steps);
  const double second = static_cast<double>(random.below(steps)) / static_cast<double>(steps);
  const double normal = std::sqrt(-2 * std::log(first)) * std::cos(2 * std::numbers::pi * second);
  const double factor = std::clamp(std::exp(setting.spread * normal), 1e-3, 1e3);
  return std::max<std::uint64_t>(
      static_cast<std::uint64_t>(factor * static_cast<double>(setting.tunnel.bytes)), 1);
}

void run(const BenchSetting& setting, std::uint64_t seed) {
  if (setting.flows.empty()) {
    TunnelSetting tunnel = setting.tunnel;
    if (setting.spread > 0) tunnel.bytes = draw_bytes(setting, seed);
    return print(seed, TunnelRun(tunnel, seed).run(), setting.series);
  }
  const SharedSetting shared{
      .world = setting.tunnel.world, .flows = setting.flows, .length = setting.tunnel.limit};
  print_shared(seed, shared, run_shared(shared, seed));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tunnel_bench SEED RUNS < SETTING\n");
    return 2;
  }
  BenchSetting setting;
  const LineReaders<BenchSetting> readers{{"mode", read_mode},
                                          {"streams", read_streams},
                                          {"bytes", read_bytes},
                                          {"spread", read_spread},
                                          {"round_trips", read_round_trips},
                                          {"loss", read_loss},
                                          {"rate", read_rate},
                                          {"trace", read_trace},
                                          {"congestion", read_congestion},
                                          {"queue", read_queue},
                                          {"fair", read_fair},
                                          {"repeats_first", read_repeats_first},
                                          {"tecc", read_tecc},
                                          {"drain", read_drain},
                                          {"credit", read_credit},
                                          {"skips_outages", read_skips_outages},
                                          {"tolerates", read_tolerates},
                                          {"warm_start", read_warm_start},
                                          {"probes_steadily", read_probes_steadily},
                                          {"idle_copies", read_idle_copies},
                                          {"link_queue", read_link_queue},
                                          {"warm", read_warm},
                                          {"offset", read_offset},
                                          {"limit", read_limit},
                                          {"flow", read_flow},
                                          {"series", read_series}};
  if (const auto line = read_lines(std::cin, readers, setting)) {
    std::fprintf(stderr, "tunnel_bench: not understood: %s\n", line->c_str());
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t runs = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) run(setting, seed);
  return 0;
}
