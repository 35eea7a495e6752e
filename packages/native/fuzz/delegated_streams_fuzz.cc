#include <cstdlib>

#include "sim/addresses.h"
#include "sim/direct_return/return_network.h"

namespace {

using namespace sheaf::quic;

constexpr std::size_t k_max_steps = 64;

// Lets the gateway of a live transfer hear what its input says in the name of its backends, between
// and instead of what these say. The first byte says whether they have recovery of their own, and
// when they begin. Backends are trusted with the bytes and the life of a response. So it checks
// that the gateway survives, keeps its bounds, delivers no wrong byte, and comes to rest.
class Transfer {
 public:
  explicit Transfer(Bytes input) : in_(input), network_(1, options(in_.read_u8())) {
    network_.fate = [this](bool to_backend, std::uint64_t) -> std::optional<Duration> {
      if (!to_backend && deaf_ > 0) return --deaf_, std::nullopt;
      return Duration{};
    };
  }

  void run() {
    for (std::size_t i = 0; i < 3; ++i) network_.request(i % 2, 20'000);
    for (std::size_t step = 0; step < k_max_steps && !in_.empty(); ++step) {
      call(in_.read_u8() % 6);
      check();
    }
    network_.simulation.run_for(20s);
    check();
    // Whatever was said, no timer is left behind that is always due.
    if (network_.gateway.delegated.next_timeout() <= network_.simulation.now()) std::abort();
  }

 private:
  static ReturnNetwork::Options options(std::uint8_t mode) {
    ReturnNetwork::Options options;
    options.own_recovery = mode % 3 != 0;
    options.start = mode % 3 == 1 ? ReturnStart::kAtOnce : ReturnStart::kWhenAccepted;
    options.access = {.queue_bytes = 1 << 20, .rate = 12'500'000, .delay = 5ms};
    options.backends = {{.order = 100us, .way = 100us}, {.order = 100us, .way = 2ms}};
    return options;
  }

  void check() const {
    const bool bounded = network_.gateway.delegated.streams() <= DelegatedStreams::k_max_streams;
    if (!bounded || !network_.all_intact()) std::abort();
  }

  void call(int which) {
    const std::uint8_t value = in_.read_u8();
    if (which == 0) network_.simulation.run_for(200us * value);
    if (which == 1) hear(value % 2);
    if (which == 2) deaf_ = value % 16;
    if (which == 3) network_.request(value % 3, 1'000u * (value / 3));
    if (which == 4) end_session(value % 2);
    if (which == 5) cancel(StreamId{std::uint64_t{value} % 16 * 4});
  }

  // Takes a datagram of a backend.
  void hear(std::size_t backend) {
    std::vector<std::uint8_t> bytes{0, 0, 0, 1};  // the counter of the session
    const Bytes rest = in_.read_bytes(std::min<std::size_t>(in_.read_u8(), in_.remaining()));
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    network_.gateway.orders[backend].receive(bytes, network_.simulation.now());
    network_.simulation.run_for(1us);
  }

  void end_session(std::size_t backend) {
    network_.kill(backend);
    network_.gateway.orders[backend].end_all(network_.simulation.now());
  }

  void cancel(StreamId stream) {
    static_cast<void>(network_.pair.client.connection.streams().reader().stop_sending(stream, 7));
  }

  Reader in_;
  std::uint64_t deaf_ = 0;  // messages of backends that are lost next
  ReturnNetwork network_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Transfer({data, size}).run();
  return 0;
}
