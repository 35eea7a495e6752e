// `simulation_bench [MINUTES]` measures the speed of the simulator. Two engines run in virtual
// time, and one sends a stream over a link of 50 Mbit/s for 10 simulated minutes. Prints one JSON
// line with the real time and the processor time; the digest of all datagrams is equal for equal
// runs.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "emulation/units.h"
#include "sim/addresses.h"
#include "sim/bulk_transfer.h"

int main(int count, char** arguments) {
  using namespace sheaf::quic;
  constexpr std::uint64_t k_endless = std::uint64_t{1} << 40;
  const int minutes = count > 1 ? std::atoi(arguments[1]) : 10;
  if (minutes < 1) return std::fprintf(stderr, "usage: simulation_bench [MINUTES]\n"), 2;

  Simulation simulation(1);
  const AddressPair path{ipv4({10, 0, 0, 1}, 50'000), ipv4({10, 0, 0, 2}, 443)};
  simulation.connect({"client", path.local}, {"server", path.remote},
                     {.rate = 50_mbps, .delay = 20ms});
  ConnectionPair pair(simulation, {.client = {}, .server = {}, .path = path});
  BulkTransfer transfer(pair, Role::kClient, k_endless);
  const std::clock_t processor_start = std::clock();
  const auto start = std::chrono::steady_clock::now();
  simulation.run_for(std::chrono::minutes(minutes));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const double processor = static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
  std::printf(
      "{\"simulated_s\":%d,\"real_s\":%.2f,\"processor_s\":%.2f,\"goodput_mbps\":%.2f,"
      "\"events\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\"}\n",
      minutes * 60, taken.count(), processor, transfer.goodput(simulation.now()) * 8 / 1e6,
      simulation.events(), simulation.digest());
  return transfer.intact() ? 0 : 1;
}
