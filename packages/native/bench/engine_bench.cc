// `engine_bench RUNS BYTES [RECEIVERS [PROVIDER]]`: connections in memory, as
// packages/bench/README.md describes. The server sends a stream in packets of 1350 bytes, batches
// of 32; the client acknowledges every second packet. With several receivers the server sends the
// same BYTES to each, on a connection of its own, in turns. Encrypts with `ipsec-mb` (the default)
// or `gnutls`. Prints one JSON line with a sample per run, in the form of the peers in
// packages/bench/peers.
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <vector>

#include "connection/connection.h"

namespace {

using namespace sheaf::quic;

constexpr std::uint16_t k_packet_size = 1350;
constexpr std::size_t k_batch_packets = 32;
constexpr std::size_t k_packets_per_ack = 2;
constexpr std::size_t k_write_ahead = 64 * 1024;
constexpr std::uint64_t k_warm_up_bytes = 2'000'000;
// What one of several receivers gets in its turn
constexpr std::uint64_t k_turn_bytes = 10 * k_write_ahead;
constexpr std::uint64_t k_window = std::uint64_t{1} << 40;

using Stopwatch = std::chrono::steady_clock;

struct Sample {
  Stopwatch::duration generation{}, processing{}, server_ack{}, client_ack{}, stream_write{};
  std::uint64_t bytes = 0, packets = 0, acks = 0;

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

Time now() {
  return Time(std::chrono::duration_cast<Duration>(Stopwatch::now().time_since_epoch()));
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "engine_bench: %s\n", what);
  std::exit(1);
}

ConnectionConfig make_config(CryptoProvider provider) {
  ConnectionConfig config;
  config.crypto = provider;
  config.streams.initial_connection_window = k_window;
  config.streams.max_connection_window = k_window;
  config.streams.initial_stream_window = k_window;
  config.streams.max_stream_window = k_window;
  config.congestion.algorithm = CongestionAlgorithm::kNone;
  config.initial_udp_payload_size = k_packet_size;
  config.max_udp_payload_size = k_packet_size;
  config.discover_mtu = false;
  return config;
}

TrafficSecret random_secret(Random& random) {
  TrafficSecret secret;
  secret.length = 32;
  random.fill(MutableBytes(secret.bytes).first(secret.length));
  return secret;
}

ConnectionId connection_id(std::uint8_t value) {
  const std::array<std::uint8_t, 8> bytes{value, value, value, value, value, value, value, value};
  return ConnectionId(Bytes(bytes));
}

// A client and a server that have their keys already.
class Pair {
 public:
  Pair(Random& random, CryptoProvider provider)
      : client_(Role::kClient, make_config(provider), random, now()),
        server_(Role::kServer, make_config(provider), random, now()) {
    const TrafficSecret client_secret = random_secret(random);
    const TrafficSecret server_secret = random_secret(random);
    ConnectionSeed seed;
    seed.path = {loopback(1111), loopback(2222)};
    seed.send_secret = client_secret;
    seed.receive_secret = server_secret;
    seed.peer_parameters = server_.local_parameters();
    seed.local_id = connection_id(1);
    seed.remote_id = connection_id(2);
    if (!client_.establishment().establish(seed, now())) fail("the client is not established");
    seed.path = {loopback(2222), loopback(1111)};
    std::swap(seed.send_secret, seed.receive_secret);
    std::swap(seed.local_id, seed.remote_id);
    seed.peer_parameters = client_.local_parameters();
    if (!server_.establishment().establish(seed, now())) fail("the server is not established");
    server_.establishment().confirm_handshake({}, now());
    send_request();
  }

  Sample transfer(std::uint64_t bytes, bool fin) {
    Sample sample;
    std::uint64_t written = 0;
    while (sample.bytes < bytes) {
      timed(sample.stream_write, [&] { written += write_ahead(bytes - written, fin); });
      TransmitBatch batch{.buffer = batch_buffer_, .max_segments = k_batch_packets, .path = {}};
      const Time sent = now();
      timed(sample.generation, [&] { server_.poll_transmit(batch, sent); });
      if (batch.size == 0) fail("nothing to send although the stream is not finished");
      sample.packets += batch.segments();
      process(sample, batch);
      const Time received = now();
      timed(sample.server_ack, [&] {
        for (Ack& ack : acks_) server_.receive(ack.datagram, received);
        while (server_.poll_event()) {
        }
      });
      sample.acks += acks_.size();
    }
    return sample;
  }

 private:
  struct Ack {
    std::array<std::uint8_t, k_packet_size> bytes;
    Datagram datagram;
  };

  static Address loopback(std::uint16_t port) {
    return {.ip = {127, 0, 0, 1}, .port = port, .family = Address::Family::kIpv4};
  }

  void send_request() {
    const auto opened = client_.streams().writer().open(Directionality::kBidirectional);
    if (!opened) fail("no stream");
    stream_ = *opened;
    static constexpr std::array<std::uint8_t, 7> k_request{'r', 'e', 'q', 'u', 'e', 's', 't'};
    (void)client_.streams().writer().write(stream_, SendChunk::copy_of(k_request), true);
    for (bool quiet = false; !quiet;)
      quiet = !deliver(client_, server_) && !deliver(server_, client_);
    std::array<std::uint8_t, 64> request;
    (void)server_.streams().reader().read(stream_, request, now());
  }

  bool deliver(Connection& from, Connection& to) {
    TransmitBatch batch{.buffer = batch_buffer_, .max_segments = k_batch_packets, .path = {}};
    from.poll_transmit(batch, now());
    for (std::size_t index = 0; index < batch.segments(); ++index) {
      to.receive(segment(batch, index), now());
    }
    while (from.poll_event() || to.poll_event()) {
    }
    return batch.size > 0;
  }

  // As the receiver's socket would give it.
  static Datagram segment(const TransmitBatch& batch, std::size_t index) {
    const std::size_t offset = index * batch.segment_size;
    const std::size_t length = std::min(batch.segment_size, batch.size - offset);
    return {.payload = batch.buffer.subspan(offset, length),
            .path = {batch.path.remote, batch.path.local}};
  }

  std::uint64_t write_ahead(std::uint64_t left, bool fin) {
    const std::uint64_t queued = server_.streams().writer().unsent_bytes(stream_);
    if (left == 0 || queued >= k_write_ahead) return 0;
    const std::uint64_t length = std::min(left, k_write_ahead - queued);
    SendChunk chunk(Bytes(data_).first(length), nullptr, nullptr);
    if (!server_.streams().writer().write(stream_, std::move(chunk), fin && length == left))
      fail("the stream is closed");
    return length;
  }

  void process(Sample& sample, const TransmitBatch& batch) {
    acks_.clear();
    const Time received = now();
    for (std::size_t start = 0; start < batch.segments(); start += k_packets_per_ack) {
      const std::size_t end = std::min(start + k_packets_per_ack, batch.segments());
      timed(sample.processing, [&] {
        for (std::size_t index = start; index < end; ++index) {
          client_.receive(segment(batch, index), received);
        }
      });
      acks_.emplace_back();
      TransmitBatch ack{.buffer = acks_.back().bytes, .max_segments = 1, .path = {}};
      timed(sample.client_ack, [&] { client_.poll_transmit(ack, received); });
      if (ack.size == 0) {
        acks_.pop_back();
      } else {
        acks_.back().datagram = segment(ack, 0);
      }
    }
    timed(sample.processing, [&] { sample.bytes += read_stream(received); });
  }

  std::uint64_t read_stream(Time received) {
    std::uint64_t bytes = 0;
    while (client_.poll_event()) {
    }
    for (Bytes next = client_.streams().reader().peek(stream_); !next.empty();
         next = client_.streams().reader().peek(stream_)) {
      bytes += next.size();
      if (!client_.streams().reader().consume(stream_, next.size(), received))
        fail("the stream is gone");
    }
    return bytes;
  }

  Connection client_;
  Connection server_;
  StreamId stream_;
  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(k_write_ahead, 0x5a);
  std::vector<std::uint8_t> batch_buffer_ = std::vector<std::uint8_t>(64 * 1024);
  std::vector<Ack> acks_ = [] {
    std::vector<Ack> acks;
    acks.reserve(k_batch_packets);
    return acks;
  }();
};

std::int64_t nanoseconds(Stopwatch::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Sends `bytes` to each of the receivers, in turns. The sample counts the bytes of one of them.
Sample transfer_to_all(std::deque<Pair>& receivers, std::uint64_t bytes) {
  if (receivers.size() == 1) return receivers.front().transfer(bytes, true);
  Sample total;
  while (total.bytes < bytes) {
    const std::uint64_t turn = std::min(k_turn_bytes, bytes - total.bytes);
    for (Pair& receiver : receivers) total.add(receiver.transfer(turn, false));
    total.bytes += turn;
  }
  return total;
}

CryptoProvider provider_named(std::string_view name) {
  if (name == "ipsec-mb") return CryptoProvider::kIpsecMb;
  if (name == "gnutls") return CryptoProvider::kGnuTls;
  fail("there is no such provider");
}

void print(const Sample& sample) {
  std::printf("{\"generation_ns\":%" PRId64 ",\"processing_ns\":%" PRId64
              ",\"server_ack_ns\":%" PRId64 ",\"client_ack_ns\":%" PRId64
              ",\"stream_write_ns\":%" PRId64 ",\"bytes\":%" PRIu64 ",\"packets\":%" PRIu64
              ",\"acks\":%" PRIu64 "}",
              nanoseconds(sample.generation), nanoseconds(sample.processing),
              nanoseconds(sample.server_ack), nanoseconds(sample.client_ack),
              nanoseconds(sample.stream_write), sample.bytes, sample.packets, sample.acks);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fprintf(stderr, "usage: engine_bench RUNS BYTES [RECEIVERS [ipsec-mb|gnutls]]\n");
    return 2;
  }
  const auto runs = std::strtoul(argv[1], nullptr, 10);
  const auto bytes = std::strtoull(argv[2], nullptr, 10);
  const auto receivers = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1;
  const CryptoProvider provider = provider_named(argc > 4 ? argv[4] : "ipsec-mb");
  if (receivers == 0) fail("there has to be a receiver");
  SeededRandom random{1};
  std::printf("{\"library\":\"sheaf\",\"samples\":[");
  for (unsigned long run = 0; run < runs; ++run) {
    std::deque<Pair> pairs;
    for (unsigned long receiver = 0; receiver < receivers; ++receiver) {
      pairs.emplace_back(random, provider);
      pairs.back().transfer(k_warm_up_bytes, false);
    }
    if (run > 0) std::printf(",");
    print(transfer_to_all(pairs, bytes));
  }
  std::printf("]}\n");
  return 0;
}
