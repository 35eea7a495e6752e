// `stream_scheduler_bench [PACKETS]` measures the cost of a stream scheduler in nanoseconds per
// packet, for 10, 100 and 1,000 streams in trees as browsers describe them, with 4 paths that are
// offered in turn. Streams end after 40 packets and others take their places; one packet in eight
// leaves its stream blocked for a while. Prints JSON.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "scheduler/stream/stream_scheduler.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_batch = 32;  // packets between two readings of the clock
constexpr std::uint64_t k_packet = 1'350;
constexpr std::uint64_t k_packets_of_stream = 40;
constexpr std::uint16_t k_weights[] = {256, 220, 183, 147, 110, 32, 22, 16};

enum class Tree { kFlat, kGroups, kChain };
struct NamedTree {
  std::string_view name;
  Tree tree;
};
// The trees of Safari, Firefox and Chrome.
constexpr NamedTree k_trees[] = {
    {"flat", Tree::kFlat}, {"groups", Tree::kGroups}, {"chain", Tree::kChain}};

constexpr std::array<PathSnapshot, 4> k_paths = [] {
  std::array<PathSnapshot, 4> paths;
  for (std::uint32_t i = 0; i < paths.size(); ++i) {
    paths[i] = {.id = {i},
                .smoothed_rtt = std::chrono::milliseconds(10 + 12 * i),
                .rtt_variance = 1ms,
                .window = 60'000,
                .capacity = 60'000,
                .sendable = 60'000,
                .datagram_size = k_packet};
  }
  return paths;
}();

// Supplies a connection with streams that never run out.
class Load {
 public:
  Load(StreamSchedulerKind kind, Tree tree, std::size_t streams)
      : scheduler_(make_stream_scheduler(kind)), tree_(tree), left_(streams), ids_(streams) {
    for (std::uint64_t group = 1; tree == Tree::kGroups && group <= 4; ++group) {
      scheduler_->set_group({.node = group, .weight = static_cast<std::uint16_t>(60 * group)});
    }
    for (std::size_t place = 0; place < streams; ++place) begin(place);
  }
  void send_packet() {
    const SendOpportunity opportunity{k_paths[offered_++ % k_paths.size()].id, k_paths};
    const auto stream = scheduler_->next(opportunity);
    if (!stream) return;
    const std::size_t place = stream->value % ids_.size();
    left_[place] -= k_packet;
    scheduler_->on_sent(*stream, {.bytes = k_packet, .remaining = left_[place]}, opportunity);
    if (left_[place] == 0) {
      scheduler_->deactivate(*stream);
      scheduler_->forget(*stream);
      begin(place);
    } else if (++sent_ % 8 == 0) {
      scheduler_->deactivate(*stream);
      unblock(place);
    }
  }

 private:
  void begin(std::size_t place) {
    const StreamId stream{next_number_++ * ids_.size() + place};
    ids_[place] = stream;
    left_[place] = (1 + random_.below(2 * k_packets_of_stream - 1)) * k_packet;
    StreamPriority priority{.urgency = static_cast<std::uint8_t>(place % 8), .incremental = true};
    priority.dependency = {.node = 1'000 + stream.value,
                           .weight = k_weights[place % std::size(k_weights)]};
    if (tree_ == Tree::kGroups) priority.dependency.parent = 1 + place % 4;
    if (tree_ == Tree::kChain && place > 0) {
      priority.dependency.parent = 1'000 + ids_[place - 1].value;
      priority.dependency.exclusive = true;
    }
    scheduler_->set_priority(stream, priority);
    scheduler_->activate(stream, left_[place]);
  }
  // Puts the blocked stream into a short queue, and wakes the one that has waited longest.
  void unblock(std::size_t place) {
    std::swap(place, blocked_[sent_ / 8 % blocked_.size()]);
    if (place < ids_.size()) scheduler_->activate(ids_[place], left_[place]);
  }

  std::unique_ptr<StreamScheduler> scheduler_;
  Tree tree_;
  std::vector<std::uint64_t> left_;
  std::vector<StreamId> ids_;
  std::array<std::size_t, 4> blocked_{SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
  std::size_t offered_ = 0;
  std::size_t sent_ = 0;
  std::uint64_t next_number_ = 1;
  SeededRandom random_{1};
};

struct Cost {
  double median, p95;
};

Cost measure(StreamSchedulerKind kind, Tree tree, std::size_t streams, std::size_t packets) {
  Load load(kind, tree, streams);
  std::vector<double> batches;
  for (std::size_t i = 0; i < 20'000; ++i) load.send_packet();
  for (std::size_t sent = 0; sent < packets; sent += k_batch) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < k_batch; ++i) load.send_packet();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    batches.push_back(taken.count() / k_batch);
  }
  std::ranges::sort(batches);
  return {batches[batches.size() / 2], batches[batches.size() * 95 / 100]};
}

}  // namespace
}  // namespace sheaf::quic

int main(int count, char** arguments) {
  using namespace sheaf::quic;
  const long packets = count > 1 ? std::atol(arguments[1]) : 1'000'000;
  if (packets < 1'000) {
    return std::fprintf(stderr, "usage: stream_scheduler_bench [PACKETS, 1000 or more]\n"), 2;
  }
  const char* separator = "";
  std::printf("{\"packets\":%ld,\"paths\":%zu,\"cells\":[", packets, k_paths.size());
  for (const auto& [scheduler, kind] : k_all_stream_schedulers) {
    for (const auto& [name, tree] : k_trees) {
      for (const std::size_t streams : {10, 100, 1'000}) {
        const Cost cost = measure(kind, tree, streams, static_cast<std::size_t>(packets));
        std::printf(
            "%s\n{\"scheduler\":\"%.*s\",\"tree\":\"%.*s\",\"streams\":%zu,"
            "\"packet_ns\":%.1f,\"p95_ns\":%.1f}",
            separator, static_cast<int>(scheduler.size()), scheduler.data(),
            static_cast<int>(name.size()), name.data(), streams, cost.median, cost.p95);
        std::fflush(stdout);
        separator = ",";
      }
    }
  }
  std::printf("\n]}\n");
  return 0;
}
