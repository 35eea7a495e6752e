#include <cstdlib>

#include "direct_return/executor.h"
#include "direct_return/held_payload.h"

namespace {

using namespace sheaf::quic;

constexpr std::uint32_t k_session = 1;
constexpr std::uint64_t k_process = 2;

Address address(std::uint8_t last) {
  return {.ip = {203, 0, 113, last}, .port = 443, .family = Address::Family::kIpv4};
}

// Calls a backend's executor in an order that the input chooses, with datagrams from the input.
// Checks that limits hold, that it sends from permitted addresses alone, and that what it says can
// be read.
class Calls {
 public:
  explicit Calls(Bytes input) : in_(input) {
    keys_.packet.key_length = keys_.header.key_length = key_length(keys_.suite);
  }

  void run() {
    while (!in_.empty()) {
      call(in_.read_u8() % 7);
      check(executor_.grants() <= 8 && executor_.waiting_runs() <= 32);
    }
  }

 private:
  static void check(bool holds) {
    if (!holds) std::abort();
  }

  void call(int which) {
    if (which == 0) return accept();
    if (which == 1) return receive();
    if (which == 2) return send();
    if (which == 3) return hear();
    if (which == 4) now_ += 16us * in_.read_u16();
    if (which == 5) executor_.on_timeout(now_);
    if (which == 6) executor_.fail(in_.read_u8(), 0x102);
  }

  void accept() {
    Grant grant;
    grant.process = k_process;
    grant.id = in_.read_u8();
    grant.connection = in_.read_u8() % 4;
    grant.keys = keys_;
    grant.keys.generation = in_.read_u8();
    grant.keys.first_number = in_.read_u16();
    grant.addresses = {address(1), address(2)};
    grant.first_offset = in_.read_u8();
    grant.limit = grant.first_offset + in_.read_u16();
    auto source = std::make_unique<HeldPayload>(grant.first_offset);
    source->append(std::vector<std::uint8_t>(in_.read_u16()));
    static_cast<void>(executor_.accept(grant, std::move(source), now_));
  }

  void receive() {
    std::vector<std::uint8_t> datagram{0, 0, 0, k_session};
    const Bytes bytes = in_.read_bytes(std::min<std::size_t>(in_.read_u8(), in_.remaining()));
    datagram.insert(datagram.end(), bytes.begin(), bytes.end());
    executor_.receive(datagram, now_);
  }

  void send() {
    TransmitBatch batch;
    batch.buffer = buffer_;
    while (executor_.poll_transmit(batch, now_)) {
      check(batch.size > 0 && batch.size <= buffer_.size() && batch.segments() <= 32);
      check(batch.path.local == address(1));
    }
  }

  void hear() {
    for (int i = 0; i < 100; ++i) {
      const auto bytes = executor_.poll_message(now_);
      if (bytes.empty()) return;
      check(bool(decode_run_datagram(bytes)));
    }
    check(false);  // it never has so much to say
  }

  Reader in_;
  Time now_{1s};
  SeededRandom random_{1};
  PhaseKeys keys_;
  Executor executor_{{.session = k_session,
                      .process = k_process,
                      .sources = {address(1)},
                      .max_grants = 8,
                      .max_runs = 32},
                     random_,
                     now_};
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(48 << 10);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Calls({data, size}).run();
  return 0;
}
