// `multicast_bench ROUNDS BYTES SEED < CASES`: what a channel costs its source and one receiver, in
// memory, beside unicast by the same engine. The cases have a line each:
//   unicast RECEIVERS
//   channel AUTHENTICATION RECEIVERS WINDOW LOSS_DISTANCE OBJECT_BYTES
// AUTHENTICATION is a name of multicast/schemes.h. One packet of LOSS_DISTANCE is lost and
// repaired, or none if it is 0. In each round every case sends BYTES to its receivers, in an order
// that SEED draws. With unicast each of many receivers gets its part of BYTES, and at least one
// batch.
//
// Prints a JSON line for each case and round. `bytes` went to one receiver. `source_ns` is the time
// in which the source wrote and sent them to all, and `receiver_ns` that in which one receiver took
// them. `..._reports_ns` is what reports and acknowledgements took. Times of channels are processor
// time of the calling thread; those of unicast are time that passed, as engine_bench has it.
// `..._helper_ns` is processor time of helper threads, for which the program waits after each
// batch, outside of all times. Tags and signatures of streams go beside the channel: their packets
// are not counted.
#include <algorithm>
#include <cinttypes>
#include <iostream>
#include <memory>
#include <variant>

#include "engine/bare_host.h"
#include "engine/receiver.h"
#include "multicast/channel_run.h"
#include "setting_lines.h"

namespace {

using namespace sheaf::quic;
using namespace sheaf::quic::multicast_bench;
using engine_bench::BareHost;
using engine_bench::Sample;

constexpr std::uint64_t k_one_batch = 42'000;
constexpr std::uint64_t k_warm_up_bytes = 500'000;

// A connection for each receiver
class UnicastRun {
 public:
  UnicastRun(std::size_t receivers, Random& random) {
    for (std::size_t i = 0; i < receivers; ++i) {
      receivers_.emplace_back(engine_bench::connect_bare(CryptoProvider::kIpsecMb, random));
    }
  }

  // Counts the bytes of one receiver, and the time of all.
  Sample round(std::uint64_t bytes) {
    const std::uint64_t each = std::max(bytes / receivers_.size(), k_one_batch);
    Sample total;
    for (auto& receiver : receivers_) {
      const Sample sample = receiver.transfer(each, false);
      total.add(sample);
      total.bytes += sample.bytes;
    }
    total.bytes /= receivers_.size();
    return total;
  }
  std::size_t receivers() const { return receivers_.size(); }

 private:
  std::deque<engine_bench::Receiver<BareHost>> receivers_;
};

struct Case {
  ChannelSetting setting;  // without an authentication: unicast
  std::unique_ptr<ChannelRun> channel{};
  std::unique_ptr<UnicastRun> unicast{};
};
using Cases = std::vector<Case>;

void read_unicast(std::istream& in, Cases& cases) {
  ChannelSetting setting;
  in >> setting.receivers;
  if (setting.receivers == 0) in.setstate(std::ios::failbit);
  cases.push_back({setting});
}

void read_channel(std::istream& in, Cases& cases) {
  ChannelSetting setting;
  in >> setting.authentication >> setting.receivers >> setting.window >> setting.loss_distance >>
      setting.object_bytes;
  const bool valid = setting.receivers > 0 && setting.window >= 100 && setting.object_bytes > 0;
  if (!valid || setting.loss_distance == 1) in.setstate(std::ios::failbit);
  cases.push_back({setting});
}

double nanoseconds(engine_bench::Stopwatch::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

void print(std::size_t round, const UnicastRun& run, const Sample& sample) {
  const auto receivers = static_cast<double>(run.receivers());
  std::printf("{\"round\":%zu,\"delivery\":\"unicast\",\"receivers\":%zu,\"bytes\":%" PRIu64
              ",\"read\":%" PRIu64 ",\"packets\":%" PRIu64
              ",\"source_ns\":%.0f,\"source_reports_ns\":%.0f,"
              "\"receiver_ns\":%.0f,\"receiver_reports_ns\":%.0f}\n",
              round, run.receivers(), sample.bytes, sample.bytes, sample.packets,
              nanoseconds(sample.generation), nanoseconds(sample.server_ack),
              nanoseconds(sample.processing) / receivers,
              nanoseconds(sample.client_ack) / receivers);
}

void print(std::size_t round, const ChannelSetting& setting, const ChannelSample& sample) {
  std::printf(
      "{\"round\":%zu,\"delivery\":\"channel\",\"authentication\":\"%s\",\"receivers\":%zu,"
      "\"window\":%u,\"loss_distance\":%zu,\"object_bytes\":%zu,\"bytes\":%" PRIu64
      ",\"read\":%" PRIu64 ",\"packets\":%" PRIu64 ",\"recovered\":%" PRIu64 ",\"repairs\":%" PRIu64
      ",\"source_ns\":%.0f,\"source_reports_ns\":%.0f,\"source_helper_ns\":%.0f,"
      "\"receiver_ns\":%.0f,\"receiver_reports_ns\":%.0f,\"receiver_helper_ns\":%.0f}\n",
      round, setting.authentication.c_str(), setting.receivers, setting.window,
      setting.loss_distance, setting.object_bytes, sample.bytes, sample.read, sample.packets,
      sample.recovered, sample.repairs, sample.source, sample.source_reports, sample.source_helper,
      sample.receiver, sample.receiver_reports, sample.receiver_helper);
}

void run(Case& each, std::size_t round, std::uint64_t bytes) {
  if (each.unicast) {
    print(round, *each.unicast, each.unicast->round(bytes));
  } else {
    print(round, each.setting, each.channel->round(bytes));
  }
}

void prepare(Case& each, Random& random) {
  if (each.setting.authentication.empty()) {
    each.unicast = std::make_unique<UnicastRun>(each.setting.receivers, random);
    each.unicast->round(k_warm_up_bytes);
  } else {
    each.channel = std::make_unique<ChannelRun>(each.setting, random);
    each.channel->round(k_warm_up_bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  if (argc != 4 || number(1) == 0 || number(2) == 0) {
    std::fprintf(stderr, "usage: multicast_bench ROUNDS BYTES SEED < CASES\n");
    return 2;
  }
  Cases cases;
  const LineReaders<Cases> readers{{"unicast", read_unicast}, {"channel", read_channel}};
  if (const auto line = read_lines(std::cin, readers, cases)) {
    std::fprintf(stderr, "multicast_bench: not understood: %s\n", line->c_str());
    return 2;
  }
  SeededRandom random{number(3)};
  for (Case& each : cases) prepare(each, random);
  for (std::size_t round = 1; round <= number(1); ++round) {
    for (std::size_t left = cases.size(); left > 1; --left) {
      std::swap(cases[left - 1], cases[random.below(left)]);
    }
    for (Case& each : cases) run(each, round, number(2));
    std::fflush(stdout);
  }
  return 0;
}
