#include <cstdlib>
#include <map>

#include "crypto/packet_protection.h"
#include "direct_return/executor.h"
#include "direct_return/phase_sealer.h"

namespace {

using namespace sheaf::quic;

constexpr std::uint32_t k_session = 1;
constexpr std::uint64_t k_process = 2;
constexpr GrantId k_paths = 4;  // their numbers are 1 to this

Address address(std::uint8_t last) {
  return {.ip = {203, 0, 113, last}, .port = 443, .family = Address::Family::kIpv4};
}

// Zeros up to an end, of which some may be gone
class Zeros final : public PayloadSource {
 public:
  Zeros(std::uint64_t end, std::uint64_t broken_from) : end_(end), broken_from_(broken_from) {}
  std::uint64_t available() const override { return end_; }
  std::optional<std::uint64_t> end() const override { return end_; }
  PayloadRead read(std::uint64_t offset, MutableBytes out) override {
    if (offset + out.size() > end_) std::abort();
    if (offset + out.size() > broken_from_) return PayloadRead::kBroken;
    std::ranges::fill(out, std::uint8_t{0});
    return PayloadRead::kDone;
  }
  void release(std::uint64_t offset) override {
    if (offset > end_) std::abort();
  }

 private:
  std::uint64_t end_;
  std::uint64_t broken_from_;
};

// Lends paths to a backend, and says about them what the input chooses: acknowledgements of any
// numbers, shares, limits, keys and addresses, in any order, also of paths that are over. Checks
// that the packet numbers of a path rise over all that is sent, also after the path was given back,
// that packets go to its client from the permitted address, are no larger than permitted and none
// while the address is being validated, and that what the backend says can be read.
class PathCalls {
 public:
  explicit PathCalls(Bytes input) : in_(input) {
    keys_.packet.key_length = keys_.header.key_length = key_length(keys_.suite);
    header_ = make_header_protection(keys_.suite, keys_.header, CryptoProvider::kAutomatic);
  }

  void run() {
    while (!in_.empty()) {
      call(in_.read_u8() % 9);
      check(executor_.grants() <= 8);
    }
  }

 private:
  static void check(bool holds) {
    if (!holds) std::abort();
  }
  GrantId some_path() { return 1 + in_.read_u8() % k_paths; }
  GrantId some_grant() { return 100 + in_.read_u8() % 16; }
  // Packets show by their destination to which path they belong.
  static Address client(GrantId path) { return address(static_cast<std::uint8_t>(10 + path)); }

  void call(int which) {
    if (which == 0) return accept();
    if (which == 1) return report();
    if (which == 2) return send();
    if (which == 3) return hear();
    if (which == 4) now_ += 100us * in_.read_u16();
    if (which == 5) executor_.on_timeout(now_);
    if (which == 6) return tell();
    if (which == 7) return move();
    if (which == 8) return update();
  }

  void accept() {
    Grant grant;
    grant.process = k_process;
    grant.id = some_grant();
    const GrantId path = some_path();
    grant.connection = mark_lent_path(path);
    grant.keys = keys_;
    grant.keys.path.value = 2 * path + 1;
    grant.addresses = {address(1), client(path)};
    grant.stream.value = 4 * std::uint64_t{in_.read_u8()};
    const std::uint64_t end = 1 + in_.read_u16();
    grant.first_offset = std::min<std::uint64_t>(in_.read_u8(), end - 1);
    grant.limit = grant.first_offset + in_.read_u16();
    const std::uint64_t broken_from = in_.read_u8() % 8 == 0 ? end / 2 : end;
    static_cast<void>(executor_.accept(grant, std::make_unique<Zeros>(end, broken_from), now_));
  }

  template <typename Message>
  void say(const Message& message) {
    const auto bytes = encode_run_datagram({k_session, std::vector<Message>{message}});
    if (decode_run_datagram(bytes)) executor_.receive(bytes, now_);
  }

  void report() {
    AckReport report;
    report.path = some_path();
    report.number = ++reports_;
    report.window = in_.read_u16() * 16u;
    report.epoch = 1 + in_.read_u8() / 64u;
    const std::uint8_t flags = in_.read_u8();
    report.slow_start = (flags & 1) != 0;
    report.ecn = (flags & 2) != 0;
    if ((flags & 4) != 0) report.counts = EcnCounts{.ect0 = in_.read_u8(), .ce = in_.read_u8()};
    report.datagram = 1200;
    report.hold = 100us * in_.read_u8();
    // Mostly numbers that were used
    std::uint64_t below = seen_[report.path] + in_.read_u8() / 128u;
    for (std::size_t ranges = in_.read_u8() % 5; ranges > 0; --ranges) {
      const std::uint64_t gap = in_.read_u8() % 16, length = 1 + in_.read_u8() % 32;
      if (below < gap + length + 1) break;
      report.acknowledged.push_back({below - gap - length, below - gap});
      below -= gap + length + 1;
    }
    say(report);
  }

  void tell() {
    if (in_.read_u8() % 4 == 0) {
      return say(GrantEnded{.end = GrantEnd::kRevoke,
                            .grant = in_.read_u8() % 2 == 0 ? some_grant() : some_path()});
    }
    say(Acknowledged{.grant = some_grant(), .offset = 0, .limit = in_.read_u16()});
  }

  void move() {
    AddressChange change;
    const GrantId path = some_path();
    change.connection = mark_lent_path(path);
    change.number = ++moves_;
    change.addresses = {address(1), client(path)};
    change.addresses.remote.port = 1 + in_.read_u8();
    change.paused = in_.read_u8() % 4 == 0;
    say(change);
  }

  void update() {
    const GrantId path = some_path();
    PhaseKeys next = keys_;
    next.path.value = 2 * path + 1;
    next.generation = 1 + in_.read_u8() % 8u;
    next.first_number = in_.read_u8();
    say(PhaseSealer(next).seal(mark_lent_path(path), next));
  }

  void send() {
    TransmitBatch batch;
    batch.buffer = buffer_;
    for (int i = 0; i < 64 && executor_.poll_transmit(batch, now_); ++i) {
      check(batch.size > 0 && batch.size <= buffer_.size() && batch.segments() <= 32);
      check(batch.path.local == address(1) && batch.segment_size <= 1200);
      PacketNumber& next = seen_[batch.path.remote.ip[3] - 10u];
      for (std::size_t at = 0; at < batch.size; at += batch.segment_size) {
        const std::size_t size = std::min(batch.segment_size, batch.size - at);
        const PacketNumber number = number_of(batch.buffer.subspan(at, size));
        check(number >= next);
        next = number + 1;
      }
    }
  }

  // Key updates leave the key of headers as it is, and clients have no connection id here.
  PacketNumber number_of(MutableBytes packet) {
    const auto read = remove_header_protection(*header_, packet, 1);
    check(read && read->packet_number_length == 4);
    return read->truncated_packet_number;
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
  std::unique_ptr<HeaderProtection> header_;
  std::uint32_t reports_ = 0, moves_ = 0;
  std::map<GrantId, PacketNumber> seen_;  // one above the last number on each path
  Executor executor_{{.session = k_session,
                      .process = k_process,
                      .sources = {address(1)},
                      .max_grants = 8,
                      .max_runs = 32,
                      .lent_paths = true},
                     random_,
                     now_};
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(48 << 10);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  PathCalls({data, size}).run();
  return 0;
}
