// `backend_import_bench [CONNECTIONS]` measures the cost of a connection at a backend
// (docs/results/multi-end.md): the time from the bytes of a snapshot to a connection that can
// receive, including key derivation, and the heap that it holds while idle, before its first packet
// and after its first request. Prints one JSON line.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "connection/connection.h"
#include "multi_end/backends.h"
#include "multi_end/connection_snapshot.h"
#include "multi_end/credit_leases.h"
#include "sim/known_secret.h"

namespace sheaf::quic {
namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "backend_import_bench: %s\n", what);
  std::exit(1);
}

Address address(std::uint8_t host) {
  return {.ip = {10, 0, 0, host}, .port = 443, .family = Address::Family::kIpv4};
}

ConnectionId connection_id(std::uint8_t value) {
  return ConnectionId(std::vector<std::uint8_t>(8, value));
}

ConnectionConfig make_config(std::uint64_t key_modes) {
  ConnectionConfig config;
  offer_multi_end(config, key_modes);
  return config;
}

// Holds a connection at a backend in the same way as a backend's server.
struct Imported {
  Imported(Bytes snapshot, Random& random, Time now) {
    const auto seed = decode_snapshot(snapshot);
    if (!seed) fail("the snapshot is refused");
    connection = std::make_unique<Connection>(Role::kServer, seed->adapt({}), random, now);
    connection->routing().set_id_maker(ids);
    leases = std::make_unique<LeaseHolder>(leased_limits(*connection), seed->lease);
    if (!establish_backend(*connection, *seed, now)) fail("the connection is not established");
    while (connection->poll_event() || connection->routing().poll_id_change()) {
    }
  }
  static inline const SharedIdMaker ids =
      std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 0x3c));
  std::unique_ptr<Connection> connection;
  std::unique_ptr<LeaseHolder> leases;
};

// Holds a client, the primary that did its handshake, and one backend.
class Trio {
 public:
  Trio(Random& random, std::uint64_t key_modes)
      : client_(Role::kClient, make_config(key_modes), random, now_),
        primary_(Role::kServer, make_config(key_modes), random, now_) {
    ConnectionSeed seed;
    seed.send_secret = known_secret(1);
    seed.receive_secret = known_secret(2);
    seed.path = {address(1), address(2)};
    seed.local_id = connection_id(1);
    seed.remote_id = connection_id(2);
    seed.peer_parameters = primary_.local_parameters();
    client_.routing().set_id_maker(Imported::ids);
    primary_.routing().set_id_maker(Imported::ids);
    if (!client_.establishment().establish(seed, now_)) fail("the client is not established");
    std::swap(seed.send_secret, seed.receive_secret);
    std::swap(seed.path.local, seed.path.remote);
    std::swap(seed.local_id, seed.remote_id);
    seed.peer_parameters = client_.local_parameters();
    if (!primary_.establishment().establish(seed, now_)) fail("the primary is not established");
    primary_.establishment().confirm_handshake({}, now_);
    exchange(nullptr);
  }

  std::vector<std::uint8_t> hand_over() {
    const auto seed =
        quic::hand_over(primary_, BackendId{0}, address(3), {.credit = 256 << 10, .ids = {}});
    if (!seed) fail("nothing is handed over");
    if (!offer_backend(primary_, BackendId{0})) fail("no offer");
    return encode_snapshot(*seed);
  }
  // Opens the path, and lets the backend answer a request of 100 bytes with 20,000.
  void use(Connection& backend) {
    exchange(&backend);
    const auto path = open_backend(client_, BackendId{0}, address(1), now_);
    if (!path) fail("the path is not opened");
    exchange(&backend);
    const auto stream = client_.streams().writer().open(Directionality::kBidirectional);
    if (!stream || !client_.paths().pin(*stream, *path)) fail("no stream");
    static_cast<void>(client_.streams().writer().write(*stream, bytes(100), true));
    exchange(&backend);
    read(backend, *stream);
    static_cast<void>(backend.streams().writer().write(*stream, bytes(20'000), true));
    for (int turn = 0; turn < 20; ++turn) {
      exchange(&backend);
      read(client_, *stream);
    }
    if (backend.stats().streams_open != 0) fail("the request does not end");
  }

 private:
  static SendChunk bytes(std::size_t size) {
    return SendChunk::copy_of(std::vector<std::uint8_t>(size, 7));
  }
  void read(Connection& from, StreamId stream) {
    std::vector<std::uint8_t> buffer(32768);
    for (;;) {
      const auto result = from.streams().reader().read(stream, buffer, now_);
      if (!result || result->bytes == 0) break;
    }
    forget_events(from);
  }
  static void forget_events(Connection& connection) {
    while (connection.poll_event() || connection.routing().poll_id_change()) {
    }
  }
  bool send(Connection& from, Connection& to_client_side, Connection* backend) {
    TransmitBatch batch{.buffer = buffer_, .max_segments = 32, .path = {}};
    from.poll_transmit(batch, now_);
    for (std::size_t at = 0; at < batch.size; at += batch.segment_size) {
      const std::size_t length = std::min(batch.segment_size, batch.size - at);
      const AddressPair back{batch.path.remote, batch.path.local};
      Connection* to = batch.path.remote == address(3) ? backend : &to_client_side;
      if (to) to->receive({batch.buffer.subspan(at, length), back}, now_);
    }
    return batch.size > 0;
  }
  // Runs until nobody has anything to send, and then until the timers have nothing to do.
  void exchange(Connection* backend) {
    for (int pause = 0; pause < 4; ++pause) {
      bool quiet = false;
      for (int turn = 0; turn < 100 && !quiet; ++turn) {
        quiet = !send(client_, primary_, backend);
        quiet = !send(primary_, client_, nullptr) && quiet;
        if (backend) quiet = !send(*backend, client_, nullptr) && quiet;
      }
      now_ += std::chrono::milliseconds(30);
      for (Connection* connection : {&client_, &primary_, backend}) {
        if (connection && connection->next_timeout() <= now_) connection->on_timeout(now_);
      }
    }
    forget_events(client_);
    forget_events(primary_);
    if (backend) forget_events(*backend);
  }

  Time now_{std::chrono::seconds(1)};
  Connection client_;
  Connection primary_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(65536);
};

std::size_t heap() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Figures {
  double microseconds;
  std::size_t fresh_bytes;
  std::size_t used_bytes;
};

Figures measure(std::uint64_t key_modes, std::size_t count) {
  SeededRandom random(1);
  std::vector<std::unique_ptr<Trio>> trios;
  std::vector<std::vector<std::uint8_t>> snapshots;
  for (std::size_t i = 0; i < count; ++i) {
    trios.push_back(std::make_unique<Trio>(random, key_modes));
    snapshots.push_back(trios.back()->hand_over());
  }
  std::vector<double> times;
  std::vector<std::unique_ptr<Imported>> imported;
  times.reserve(count);
  imported.reserve(count);
  const std::size_t before = heap();
  for (const auto& snapshot : snapshots) {
    const auto start = std::chrono::steady_clock::now();
    imported.push_back(std::make_unique<Imported>(snapshot, random, Time(1s)));
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - start;
    times.push_back(taken.count());
  }
  const std::size_t fresh = (heap() - before) / count;
  for (std::size_t i = 0; i < count; ++i) {
    trios[i]->use(*imported[i]->connection);
    // Polls the returns as a server does, after which the backend counts as idle.
    for (const Time now : {Time(60s), Time(61s)}) imported[i]->leases->poll_return(now);
  }
  // Memory of clients and primaries does not count as the backend's.
  trios.clear();
  const std::size_t with = heap();
  imported.clear();
  return {median(times), fresh, (with - heap()) / count};
}

void print(const char* name, const Figures& figures) {
  std::printf("\"%s\":{\"import_us\":%.1f,\"fresh_bytes\":%zu,\"idle_bytes\":%zu}", name,
              figures.microseconds, figures.fresh_bytes, figures.used_bytes);
}

}  // namespace
}  // namespace sheaf::quic

int main(int argc, char** argv) {
  using namespace sheaf::quic;
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 500;
  if (count == 0) fail("how many connections?");
  const Figures per_path = measure(BackendKeyModes::k_all, count);
  const Figures shared = measure(BackendKeyModes::k_shared, count);
  std::printf("{\"connections\":%zu,", count);
  print("per_path", per_path);
  std::printf(",");
  print("shared", shared);
  std::printf("}\n");
}
