// `engine_bench RUNS BYTES [RECEIVERS [PROVIDER [HOST]]]`: connections in memory, as
// packages/bench/README.md describes. The server sends a stream in packets of 1350 bytes, batches
// of 32; the client acknowledges every second packet. With several receivers the server sends the
// same BYTES to each, on a connection of its own, in turns. Encrypts with `ipsec-mb` (the default)
// or `gnutls`. Calls the connections (`connection`, the default), or endpoints that dispatch to
// them (`endpoint`). Prints one JSON line with a sample per run, in the form of the peers in
// packages/bench/peers.
#include <cinttypes>
#include <deque>
#include <string_view>

#include "engine/bare_host.h"
#include "engine/endpoint_host.h"
#include "engine/receiver.h"

namespace {

using namespace sheaf::quic;
using namespace sheaf::quic::engine_bench;

constexpr std::uint64_t k_warm_up_bytes = 2'000'000;
// What one of several receivers gets in its turn
constexpr std::uint64_t k_turn_bytes = 10 * 64 * 1024;

std::int64_t nanoseconds(Stopwatch::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Sends `bytes` to each of the receivers, in turns. The sample counts the bytes of one of them.
template <typename Host>
Sample transfer_to_all(std::deque<Receiver<Host>>& receivers, std::uint64_t bytes) {
  if (receivers.size() == 1) return receivers.front().transfer(bytes, true);
  Sample total;
  while (total.bytes < bytes) {
    const std::uint64_t turn = std::min(k_turn_bytes, bytes - total.bytes);
    for (Receiver<Host>& receiver : receivers) total.add(receiver.transfer(turn, false));
    total.bytes += turn;
  }
  return total;
}

// Connects with `connect`, which returns a client and a server.
template <typename Connect>
Sample run(Connect connect, unsigned long count, std::uint64_t bytes) {
  using Host = decltype(connect().first);
  std::deque<Receiver<Host>> receivers;
  for (unsigned long receiver = 0; receiver < count; ++receiver) {
    receivers.emplace_back(connect());
    receivers.back().transfer(k_warm_up_bytes, false);
  }
  return transfer_to_all(receivers, bytes);
}

CryptoProvider provider_named(std::string_view name) {
  if (name == "ipsec-mb") return CryptoProvider::kIpsecMb;
  if (name == "gnutls") return CryptoProvider::kGnuTls;
  fail("there is no such provider");
}

bool is_endpoint(std::string_view host) {
  if (host != "connection" && host != "endpoint") fail("there is no such host");
  return host == "endpoint";
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
  if (argc < 3 || argc > 6) {
    std::fprintf(stderr,
                 "usage: engine_bench RUNS BYTES [RECEIVERS [ipsec-mb|gnutls "
                 "[connection|endpoint]]]\n");
    return 2;
  }
  const auto runs = std::strtoul(argv[1], nullptr, 10);
  const auto bytes = std::strtoull(argv[2], nullptr, 10);
  const auto receivers = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1;
  const CryptoProvider provider = provider_named(argc > 4 ? argv[4] : "ipsec-mb");
  const bool through_endpoint = is_endpoint(argc > 5 ? argv[5] : "connection");
  if (receivers == 0) fail("there has to be a receiver");
  SeededRandom random{1};
  std::printf("{\"library\":\"sheaf\",\"samples\":[");
  for (unsigned long index = 0; index < runs; ++index) {
    if (index > 0) std::printf(",");
    if (through_endpoint) {
      EndpointNetwork network(provider, random);
      print(run([&] { return network.connect(); }, receivers, bytes));
    } else {
      print(run([&] { return connect_bare(provider, random); }, receivers, bytes));
    }
  }
  std::printf("]}\n");
  return 0;
}
