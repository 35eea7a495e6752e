#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "util/time.h"

namespace sheaf::quic::engine_bench {

using Stopwatch = std::chrono::steady_clock;

// What a transfer took
struct Sample {
  Stopwatch::duration generation{}, processing{}, server_ack{}, client_ack{}, stream_write{};
  std::uint64_t bytes = 0, packets = 0, acks = 0;

  // Adds everything but the bytes.
  void add(const Sample& other) {
    generation += other.generation;
    processing += other.processing;
    server_ack += other.server_ack;
    client_ack += other.client_ack;
    stream_write += other.stream_write;
    packets += other.packets;
    acks += other.acks;
  }
};

// Adds the time that `work` takes to `total`.
template <typename Work>
void timed(Stopwatch::duration& total, Work work) {
  const auto start = Stopwatch::now();
  work();
  total += Stopwatch::now() - start;
}

inline Time current_time() {
  return Time(std::chrono::duration_cast<Duration>(Stopwatch::now().time_since_epoch()));
}

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "engine_bench: %s\n", what);
  std::exit(1);
}

}  // namespace sheaf::quic::engine_bench
