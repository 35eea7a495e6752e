// `tunnel_bench SEED RUNS < SETTING`: a download through a tunnel, in virtual time. The setting has
// a line for each of
//   mode stream|stream-group|datagram|retransmit|forward
//   streams COUNT                     of a stream group
//   bytes COUNT                       of the download
//   round_trips SERVER_MS TUNNEL_MS   client to server through the tunnel, client to tunnel
//   loss DOWN UP                      shares of the packets, between client and tunnel
//   rate MBPS                         between client and tunnel
//   trace PATH                        in place of the rate, towards the client, from a place that
//                                     the seed tells
//   congestion OUTER INNER            none|bbr_v1|bbr|cubic|new_reno
//   queue unbounded|codel|BYTES       at the tunnel
//   repeats_first 0|1                 whether repeats overtake other packets there
//   tecc literal|mended WEIGHT        the server obeys reports, smoothed with this weight
//   link_queue BYTES                  before the slow link
//   warm BYTES                        that another flow of the tunnel carries before
//   series 0|1                        1: prints samples of every 10 ms
// Prints a JSON line for each run; the run with index i has the seed SEED + i and replays with it.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>

#include "setting_lines.h"
#include "sim/tunnel/tunnel_run.h"

namespace {

using namespace sheaf::quic;

struct BenchSetting {
  TunnelSetting tunnel;
  bool series = false;
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
  read_word(in, modes, setting.tunnel.mode);
}

void read_streams(std::istream& in, BenchSetting& setting) {
  in >> setting.tunnel.streams;
  if (setting.tunnel.streams == 0) in.setstate(std::ios::failbit);
}

void read_bytes(std::istream& in, BenchSetting& setting) { in >> setting.tunnel.bytes; }

void read_round_trips(std::istream& in, BenchSetting& setting) {
  double server = 0;
  double tunnel = 0;
  in >> server >> tunnel;
  setting.tunnel.server_round_trip = Duration(static_cast<std::int64_t>(server * 1e6));
  setting.tunnel.tunnel_round_trip = Duration(static_cast<std::int64_t>(tunnel * 1e6));
  if (tunnel <= 0 || tunnel > server) in.setstate(std::ios::failbit);
}

void read_loss(std::istream& in, BenchSetting& setting) {
  in >> setting.tunnel.loss_down >> setting.tunnel.loss_up;
}

void read_rate(std::istream& in, BenchSetting& setting) {
  double mbps = 0;
  in >> mbps;
  setting.tunnel.rate = static_cast<std::uint64_t>(mbps * 125'000);
}

void read_trace(std::istream& in, BenchSetting& setting) {
  std::string path;
  in >> path;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const auto trace = CapacityTrace::parse(text.str());
  if (!file || !trace) return in.setstate(std::ios::failbit);
  setting.tunnel.trace = std::make_shared<const CapacityTrace>(*trace);
}

void read_congestion(std::istream& in, BenchSetting& setting) {
  static const std::map<std::string, CongestionAlgorithm> algorithms{
      {"none", CongestionAlgorithm::kNone},
      {"bbr_v1", CongestionAlgorithm::kBbrV1},
      {"bbr", CongestionAlgorithm::kBbr},
      {"cubic", CongestionAlgorithm::kCubic},
      {"new_reno", CongestionAlgorithm::kNewReno}};
  read_word(in, algorithms, setting.tunnel.outer);
  read_word(in, algorithms, setting.tunnel.inner);
}

void read_queue(std::istream& in, BenchSetting& setting) {
  std::string word;
  in >> word;
  InnerPacketQueueConfig& queue = setting.tunnel.queue;
  queue.codel = word == "codel";
  queue.limit = InnerPacketQueueConfig::k_unbounded;
  if (queue.codel || word == "unbounded") return;
  queue.limit = std::strtoull(word.c_str(), nullptr, 10);
  if (queue.limit == 0) in.setstate(std::ios::failbit);
}

void read_repeats_first(std::istream& in, BenchSetting& setting) {
  in >> setting.tunnel.queue.repeats_first;
}
void read_tecc(std::istream& in, BenchSetting& setting) {
  static const std::map<std::string, TeccConfig::Units> units{
      {"literal", TeccConfig::Units::kLiteral}, {"mended", TeccConfig::Units::kMended}};
  TeccConfig& config = setting.tunnel.tecc.emplace();
  read_word(in, units, config.units);
  in >> config.ewma_weight;
}
void read_link_queue(std::istream& in, BenchSetting& setting) { in >> setting.tunnel.link_queue; }
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
  const double mean_delay = mean(delays);
  const double mean_queue = mean(queue);
  std::printf(
      "{\"seed\":%" PRIu64 ",\"digest\":\"%016" PRIx64
      "\",\"finished\":%s,\"completion_ms\":%.3f,\"received\":%" PRIu64
      ",\"delay_mean_ms\":%.3f,\"delay_p50_ms\":%.3f,\"delay_p95_ms\":%.3f"
      ",\"delay_p99_ms\":%.3f,\"inner_sent\":%" PRIu64 ",\"inner_lost\":%" PRIu64
      ",\"outer_sent\":%" PRIu64 ",\"outer_lost\":%" PRIu64 ",\"outer_repeats\":%" PRIu64
      ",\"queue_mean\":%.0f,\"queue_p50\":%.0f,\"queue_p95\":%.0f,\"queue_dropped\":%" PRIu64
      ",\"link_dropped\":%" PRIu64 ",\"inner_rtt_p50_ms\":%.3f,\"inner_rtt_p95_ms\":%.3f",
      seed, result.digest, result.finished && result.intact ? "true" : "false",
      to_ms(result.completion), result.received, mean_delay, percentile(delays, 0.5),
      percentile(delays, 0.95), percentile(delays, 0.99), result.inner_sent, result.inner_lost,
      result.outer_sent, result.outer_lost, result.outer_repeats, mean_queue,
      percentile(queue, 0.5), percentile(queue, 0.95), result.queue_dropped, result.link_dropped,
      percentile(inner_rtt, 0.5), percentile(inner_rtt, 0.95));
  if (series) print_series(result.samples);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tunnel_bench SEED RUNS < SETTING\n");
    return 2;
  }
  BenchSetting setting;
  const LineReaders<BenchSetting> readers{
      {"mode", read_mode},   {"streams", read_streams},
      {"bytes", read_bytes}, {"round_trips", read_round_trips},
      {"loss", read_loss},   {"rate", read_rate},
      {"trace", read_trace}, {"congestion", read_congestion},
      {"queue", read_queue}, {"repeats_first", read_repeats_first},
      {"tecc", read_tecc},   {"link_queue", read_link_queue},
      {"warm", read_warm},   {"series", read_series}};
  if (const auto line = read_lines(std::cin, readers, setting)) {
    std::fprintf(stderr, "tunnel_bench: not understood: %s\n", line->c_str());
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t runs = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    print(seed, TunnelRun(setting.tunnel, seed).run(), setting.series);
  }
  return 0;
}
