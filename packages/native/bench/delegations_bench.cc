// `delegations_bench CONNECTIONS TURNS`: what a turn of a gateway costs beside its connections that
// once had a response of a backend and are idle now. One connection has a response of a backend,
// and takes the turns. Prints a JSON line: nanoseconds of one processor per turn, the median.
#include <algorithm>
#include <vector>

#include "engine/endpoint_host.h"
#include "io/monotonic_clock.h"
#include "switchboard/delegations.h"

namespace {

using namespace sheaf;
using namespace sheaf::quic::engine_bench;

struct NoListener final : io::EndpointLoop::Listener {
  void on_active(quic::ConnectionDriver&, quic::Time) override {}
  void on_turn_end() override {}
  void on_removed(quic::ConnectionDriver&) override {}
};

// Lets a backend have a response of this connection.
void offer(switchboard::Delegations& delegations, quic::ConnectionDriver& driver,
           quic::RunOrders& orders) {
  const auto stream =
      driver.connection().streams().writer().open(quic::Directionality::kUnidirectional);
  if (!stream) fail("no stream");
  auto& streams = delegations.of(driver);
  if (!streams.offer(*stream, orders, io::monotonic_now())) fail("no grant");
  if (!streams.accept(*stream, 1 << 20, io::monotonic_now())) fail("no response");
}

double nanoseconds_of_turns(switchboard::Delegations& delegations, quic::ConnectionDriver& busy,
                            std::size_t turns) {
  std::vector<double> took;
  for (std::size_t i = 0; i < turns; ++i) {
    const auto start = Stopwatch::now();
    delegations.on_active(busy);
    delegations.on_flushed(io::monotonic_now());
    took.push_back(std::chrono::duration<double, std::nano>(Stopwatch::now() - start).count());
  }
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(turns / 2);
  std::nth_element(took.begin(), middle, took.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const auto connections = argc == 3 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const auto turns = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (connections == 0 || turns == 0) {
    std::fprintf(stderr, "usage: delegations_bench CONNECTIONS TURNS\n");
    return 2;
  }
  quic::SeededRandom random{1};
  EndpointNetwork network(quic::CryptoProvider::kIpsecMb, random);
  uv_loop_t* loop = uv_default_loop();
  NoListener listener;
  io::EndpointLoop endpoint(loop, network.server(), listener);
  switchboard::Switchboard switchboard;
  auto opened = switchboard::Delegations::open(loop, endpoint, switchboard);
  if (!opened) fail("no timer");
  switchboard::Delegations& delegations = **opened;
  quic::RunOrders orders({.session = 1}, io::monotonic_now());
  for (unsigned long i = 0; i < connections; ++i) network.connect();
  std::vector<quic::ConnectionDriver*> drivers;
  network.server().for_each([&](quic::ConnectionDriver& driver) { drivers.push_back(&driver); });
  for (quic::ConnectionDriver* driver : drivers) {
    offer(delegations, *driver, orders);
    delegations.find(*driver)->revoke(
        quic::StreamId::make(quic::Role::kServer, quic::Directionality::kUnidirectional, 0));
  }
  delegations.on_flushed(io::monotonic_now());
  offer(delegations, *drivers.front(), orders);
  const double took = nanoseconds_of_turns(delegations, *drivers.front(), turns);
  std::printf("{\"connections\":%lu,\"ns_per_turn\":%.0f}\n", connections, took);
  for (quic::ConnectionDriver* driver : drivers) delegations.forget(*driver);
  return 0;
}
