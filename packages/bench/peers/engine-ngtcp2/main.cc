// `engine-ngtcp2 RUNS BYTES [RECEIVERS]`: libngtcp2 with GnuTLS in the in-memory engine benchmark;
// one JSON line with a sample per run. Stream data is handed to ngtcp2 without a copy, as its
// interface has it.
#include <ngtcp2/version.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <vector>

#include "certificate.h"
#include "side.h"

namespace {

constexpr std::size_t k_batch_packets = 32;
constexpr std::size_t k_packets_per_ack = 2;
constexpr std::size_t k_write_ahead = 64 * 1024;
constexpr std::size_t k_warm_up_bytes = 2'000'000;
// What one of several receivers gets in its turn
constexpr std::size_t k_turn_bytes = 10 * k_write_ahead;

using Clock = std::chrono::steady_clock;

struct Sample {
  Clock::duration generation{}, processing{}, server_ack{}, client_ack{};
  std::uint64_t bytes = 0, packets = 0, acks = 0;

  void add(const Sample& other) {
    generation += other.generation;
    processing += other.processing;
    server_ack += other.server_ack;
    client_ack += other.client_ack;
    packets += other.packets;
    acks += other.acks;
  }
};

// Adds the time that `work` takes to `total`.
template <typename Work>
void timed(Clock::duration& total, Work work) {
  const auto start = Clock::now();
  work();
  total += Clock::now() - start;
}

struct Packet {
  std::array<std::uint8_t, k_packet_size> bytes;
  std::size_t length = 0;
  std::span<const std::uint8_t> view() const { return {bytes.data(), length}; }
};

class Pair {
 public:
  explicit Pair(gnutls_certificate_credentials_t credentials)
      : client_(Side::Role::kClient, nullptr, {}) {
    Packet initial;
    initial.length = client_.write_packet(initial.bytes, timestamp());
    server_.emplace(Side::Role::kServer, credentials, initial.view());
    server_->read_packet(initial.view(), timestamp());
    settle();
    if (!client_.established() || !server_->established()) std::exit(1);
    stream_ = client_.open_stream();
    send_request();
    settle();
  }

  Sample transfer(std::size_t bytes, bool fin) {
    Sample sample;
    const std::uint64_t before = client_.stream_bytes_received();
    std::size_t sent = 0;
    while (client_.stream_bytes_received() - before < bytes) {
      const std::size_t count = generate(sample, bytes, sent, fin);
      if (count == 0) {
        std::fprintf(stderr, "window of %" PRIu64 " binds\n", server_->congestion_window());
        std::exit(1);
      }
      sample.packets += count;
      const std::size_t acks = process(sample, count);
      sample.acks += acks;
      const auto now = timestamp();
      timed(sample.server_ack, [&] {
        for (std::size_t index = 0; index < acks; ++index) {
          server_->read_packet(acks_[index].view(), now);
        }
      });
    }
    sample.bytes = bytes;
    return sample;
  }

 private:
  void send_request() {
    Packet packet;
    std::size_t taken = 0;
    const std::array<std::uint8_t, 7> request{'r', 'e', 'q', 'u', 'e', 's', 't'};
    packet.length = client_.write_stream(packet.bytes, stream_, request, true, taken, timestamp());
    server_->read_packet(packet.view(), timestamp());
  }

  void settle() {
    for (bool quiet = false; !quiet;) {
      quiet = true;
      Packet packet;
      while ((packet.length = server_->write_packet(packet.bytes, timestamp())) > 0) {
        quiet = false;
        client_.read_packet(packet.view(), timestamp());
      }
      while ((packet.length = client_.write_packet(packet.bytes, timestamp())) > 0) {
        quiet = false;
        server_->read_packet(packet.view(), timestamp());
      }
    }
  }

  std::size_t generate(Sample& sample, std::size_t bytes, std::size_t& sent, bool fin) {
    std::size_t count = 0;
    const auto now = timestamp();
    timed(sample.generation, [&] {
      while (count < k_batch_packets) {
        const std::size_t length = std::min(k_write_ahead, bytes - sent);
        if (length == 0) break;
        Packet& packet = packets_[count];
        packet.length = server_->write_stream(packet.bytes, stream_, {data_.data(), length},
                                              fin && sent + length == bytes, sent, now);
        if (packet.length == 0) break;
        ++count;
      }
    });
    return count;
  }

  std::size_t process(Sample& sample, std::size_t count) {
    std::size_t acks = 0;
    const auto now = timestamp();
    for (std::size_t start = 0; start < count; start += k_packets_per_ack) {
      const std::size_t end = std::min(start + k_packets_per_ack, count);
      timed(sample.processing, [&] {
        for (std::size_t index = start; index < end; ++index) {
          client_.read_packet(packets_[index].view(), now);
        }
      });
      Packet& ack = acks_[acks];
      timed(sample.client_ack, [&] { ack.length = client_.write_packet(ack.bytes, now); });
      if (ack.length > 0) ++acks;
    }
    return acks;
  }

  Side client_;
  std::optional<Side> server_;
  std::int64_t stream_ = 0;
  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(k_write_ahead, 0x5a);
  std::vector<Packet> packets_ = std::vector<Packet>(k_batch_packets);
  std::vector<Packet> acks_ = std::vector<Packet>(k_batch_packets);
};

std::int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Sends `bytes` to each of the receivers, in turns. The sample counts the bytes of one of them.
Sample transfer_to_all(std::deque<Pair>& receivers, std::size_t bytes) {
  if (receivers.size() == 1) return receivers.front().transfer(bytes, true);
  Sample total;
  while (total.bytes < bytes) {
    const std::size_t turn = std::min<std::size_t>(k_turn_bytes, bytes - total.bytes);
    for (Pair& receiver : receivers) total.add(receiver.transfer(turn, false));
    total.bytes += turn;
  }
  return total;
}

void print(const Sample& sample) {
  std::printf("{\"generation_ns\":%" PRId64 ",\"processing_ns\":%" PRId64
              ",\"server_ack_ns\":%" PRId64 ",\"client_ack_ns\":%" PRId64
              ",\"stream_write_ns\":0,\"bytes\":%" PRIu64 ",\"packets\":%" PRIu64
              ",\"acks\":%" PRIu64 "}",
              nanoseconds(sample.generation), nanoseconds(sample.processing),
              nanoseconds(sample.server_ack), nanoseconds(sample.client_ack), sample.bytes,
              sample.packets, sample.acks);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: engine-ngtcp2 RUNS BYTES [RECEIVERS]\n");
    return 2;
  }
  const auto runs = std::strtoul(argv[1], nullptr, 10);
  const auto bytes = std::strtoul(argv[2], nullptr, 10);
  const auto receivers = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1;
  gnutls_certificate_credentials_t credentials = make_server_credentials();
  std::printf("{\"library\":\"ngtcp2\",\"version\":\"%s\",\"samples\":[",
              ngtcp2_version(0)->version_str);
  for (unsigned long run = 0; run < runs; ++run) {
    std::deque<Pair> pairs;
    for (unsigned long receiver = 0; receiver < receivers; ++receiver) {
      pairs.emplace_back(credentials);
      pairs.back().transfer(k_warm_up_bytes, false);
    }
    if (run > 0) std::printf(",");
    print(transfer_to_all(pairs, bytes));
  }
  std::printf("]}\n");
  gnutls_certificate_free_credentials(credentials);
  return 0;
}
