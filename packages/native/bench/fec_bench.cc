// `fec_bench ROUNDS`: what repairs cost the source and a receiver of a channel, in memory, on one
// processor. A receiver lacks one packet of every 10, …, 10,000, and says so. The source makes one
// repair for it: over the packet that is missing (`named`), or over all packets of the window as
// MCQUIC does (`window`). Between two repairs the window is written as the packets between them
// write it. Prints a JSON line for each case: nanoseconds for each packet of the channel, with the
// repair's own making or taking, and the goodput as a share of that without repairs. This is
// computed from what a connection takes to make and to take a packet, measured in the same
// rounds. Medians of the rounds.
//
// Further lines: rows over many packets, and sets with many unknown packets.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/bare_host.h"
#include "engine/receiver.h"
#include "fec/encoder.h"
#include "multicast/paper_repairs.h"
#include "multicast/window.h"

namespace {

using namespace sheaf::quic;
using namespace sheaf::quic::engine_bench;
using namespace sheaf::quic::multicast_bench;

constexpr std::size_t k_repairs_per_round = 3;
constexpr std::size_t k_windows[] = {100, 1000, 10'000};
// One loss in so many packets: 10 to 0.01 %
constexpr std::size_t k_loss_distances[] = {10,  20,  40,   80,   100,  160,
                                            320, 640, 1250, 2500, 5000, 10'000};
constexpr std::size_t k_repair_size = fec::k_symbol_head + k_payload;

using Nanoseconds = std::chrono::duration<double, std::nano>;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns what reading the clock twice takes.
double clock_cost() {
  std::vector<double> costs;
  for (int i = 0; i < 1001; ++i) {
    Stopwatch::duration took{};
    timed(took, [] {});
    costs.push_back(Nanoseconds(took).count());
  }
  return median(costs);
}

template <typename Work>
double time_of(Work work) {
  static const double clock = clock_cost();
  Stopwatch::duration took{};
  timed(took, work);
  return std::max(0.0, Nanoseconds(took).count() - clock);
}

// Uses the processor's vector units for a while. They sleep when nothing uses them, and wake
// slowly; the cipher of a channel keeps them awake.
void wake_vector_units(const fec::Kernel& kernel) {
  static std::vector<std::uint8_t> scratch(2 * k_payload);
  for (int i = 0; i < 1000; ++i) {
    kernel.multiply_add(scratch.data(), scratch.data() + k_payload, 2, k_payload);
  }
}

// A code that repairs one missing packet.
class Code {
 public:
  Code(const char* name, const fec::Kernel& kernel)
      : name_(name), kernel_(&kernel), repair_(k_repair_size), symbol_(k_repair_size) {}
  virtual ~Code() = default;
  const char* name() const { return name_; }
  const fec::Kernel& kernel() const { return *kernel_; }

  // Makes the repair for the packet that is missing.
  virtual void make(const Window& window) = 0;
  // Recovers the packet from the repair, and puts it into the window.
  virtual void take(Window& window) = 0;

 protected:
  MutableBytes repair() { return repair_; }
  MutableBytes symbol() { return symbol_; }

 private:
  const char* name_;
  const fec::Kernel* kernel_;
  std::vector<std::uint8_t> repair_;
  std::vector<std::uint8_t> symbol_;
};

class NamedCode final : public Code {
 public:
  explicit NamedCode(const fec::Kernel& kernel)
      : Code("named", kernel), solver_(kernel, k_payload, 1 << 20) {}

  void make(const Window& window) override {
    set_ = {};
    set_.add(window.missing());
    const Bytes payload = window.payloads()[window.missing()];
    const MutableBytes buffer = repair();
    if (!fec::encode_repairs(kernel(), set_, {&payload, 1}, 0, {&buffer, 1})) std::abort();
  }
  void take(Window& window) override {
    solver_.add({.number = 0, .set = set_, .row = 0, .bytes = repair()}, window);
    const auto recovered = solver_.poll_recovered();
    if (!recovered || !window.is_right(window.missing(), recovered->payload)) fail("wrong packet");
    window.recover(recovered->payload);
    solver_.confirm(window.missing());
  }

 private:
  fec::NamedSet set_;
  fec::Solver solver_;
};

class WindowCode final : public Code {
 public:
  explicit WindowCode(const fec::Kernel& kernel) : Code("window", kernel) {}

  void make(const Window& window) override {
    scheduler_.on_nack(1, ++number_);
    while (scheduler_.should_send()) {
      encode_window(kernel(), window.payloads(), 0, repair());
      scheduler_.on_sent(++number_);
    }
  }
  void take(Window& window) override {
    decode_window(kernel(), window.payloads(), window.missing(), 0, repair(), symbol());
    const Bytes payload = Bytes(symbol()).subspan(fec::k_symbol_head);
    if (!window.is_right(window.missing(), payload)) fail("wrong packet");
    window.recover(payload);
  }

 private:
  PaperScheduler scheduler_{5};
  std::uint64_t number_ = 0;
};

// What a packet costs a connection without repairs
struct Unicast {
  explicit Unicast(Random& random) : receiver(connect_bare(CryptoProvider::kIpsecMb, random)) {}

  void round() {
    const Sample sample = receiver.transfer(1'000'000, false);
    const auto packets = static_cast<double>(sample.packets);
    make = Nanoseconds(sample.generation).count() / packets;
    take = Nanoseconds(sample.processing).count() / packets;
    makes.push_back(make);
    takes.push_back(take);
  }

  Receiver<BareHost> receiver;
  double make = 0;
  double take = 0;
  std::vector<double> makes;
  std::vector<double> takes;
};

struct Side {
  std::vector<double> added;
  std::vector<double> shares;

  void note(double repair, double packet, std::size_t distance) {
    const double more = (repair + packet) / static_cast<double>(distance);
    added.push_back(more);
    shares.push_back(packet / (packet + more));
  }
};

// One code at one rate of losses
struct Case {
  Code* code;
  Window* window;
  std::size_t distance;
  Side source{};
  Side receiver{};

  void round(const Unicast& unicast, Random& random) {
    std::vector<double> made;
    std::vector<double> taken;
    window->write(window->size());  // other cases have displaced it from the caches
    for (std::size_t i = 0; i < k_repairs_per_round; ++i) {
      window->set_missing(random.below(window->size()));
      window->write(distance);
      wake_vector_units(code->kernel());
      made.push_back(time_of([&] { code->make(*window); }));
      window->write(distance);
      wake_vector_units(code->kernel());
      taken.push_back(time_of([&] { code->take(*window); }));
    }
    source.note(median(made), unicast.make, distance);
    receiver.note(median(taken), unicast.take, distance);
  }
  void print() const {
    std::printf(
        "{\"code\":\"%s\",\"kernel\":\"%s\",\"window\":%zu,\"loss_percent\":%.4g,"
        "\"source_ns\":%.2f,\"receiver_ns\":%.2f,\"source_share\":%.4f,\"receiver_share\":%.4f}\n",
        code->name(), code->kernel().name, window->size(), 100.0 / static_cast<double>(distance),
        median(source.added), median(receiver.added), median(source.shares),
        median(receiver.shares));
  }
};

// A receiver that lacks the first packets of a window
struct Rest final : fec::KnownPackets {
  Rest(const Window& all, std::size_t lacks) : window(&all), missing(lacks) {}
  std::optional<Bytes> find(std::uint64_t number) const override {
    if (number < missing) return std::nullopt;
    return window->payloads()[number];
  }
  const Window* window;
  std::size_t missing;
};

// Rows over a set of which a receiver lacks as many packets as there are rows
class SetCase {
 public:
  SetCase(const fec::Kernel& kernel, const Window& window, std::size_t packets, std::size_t rows)
      : kernel_(&kernel),
        window_(&window),
        repairs_(rows, std::vector<std::uint8_t>(k_repair_size)),
        buffers_(repairs_.begin(), repairs_.end()),
        solver_(kernel, k_payload, 1 << 20) {
    for (std::size_t i = 0; i < packets; ++i) set_.add(i);
  }

  void round() {
    const Rest rest(*window_, buffers_.size());
    make();  // brings the packets into the caches
    making_.push_back(time_of([this] { make(); }));
    solve(rest);
    solving_.push_back(time_of([&] { solve(rest); }));
  }
  void print() const {
    const auto rows = static_cast<double>(buffers_.size());
    std::printf(
        "{\"kernel\":\"%s\",\"packets\":%zu,\"rows\":%zu,\"make_ns_per_row\":%.0f,"
        "\"solve_ns_per_packet\":%.0f}\n",
        kernel_->name, set_.size(), buffers_.size(), median(making_) / rows,
        median(solving_) / rows);
  }

 private:
  void make() {
    const auto payloads = window_->payloads().first(set_.size());
    if (!fec::encode_repairs(*kernel_, set_, payloads, 0, buffers_)) std::abort();
  }
  void solve(const Rest& rest) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const auto row = static_cast<fec::RowIndex>(i);
      solver_.add({.number = i, .set = set_, .row = row, .bytes = buffers_[i]}, rest);
    }
    std::size_t recovered = 0;
    while (const auto packet = solver_.poll_recovered()) {
      recovered += window_->is_right(packet->number, packet->payload) ? 1 : 0;
      solver_.confirm(packet->number);
    }
    if (recovered != buffers_.size()) fail("not all packets were recovered");
  }

  const fec::Kernel* kernel_;
  const Window* window_;
  fec::NamedSet set_;
  std::vector<std::vector<std::uint8_t>> repairs_;
  std::vector<MutableBytes> buffers_;
  fec::Solver solver_;
  std::vector<double> making_;
  std::vector<double> solving_;
};

std::vector<const fec::Kernel*> kernels_here() {
  std::vector<const fec::Kernel*> kernels;
  for (const fec::KernelKind kind : fec::k_kernels_by_preference) {
    if (const fec::Kernel* kernel = fec::find_kernel(kind)) kernels.push_back(kernel);
  }
  return kernels;
}

std::vector<std::unique_ptr<Code>> make_codes() {
  std::vector<std::unique_ptr<Code>> codes;
  codes.push_back(std::make_unique<NamedCode>(fec::best_kernel()));
  codes.push_back(std::make_unique<WindowCode>(fec::best_kernel()));
  const fec::Kernel* isal = fec::find_kernel(fec::KernelKind::kIsal);
  if (isal != nullptr && isal != &fec::best_kernel()) {
    codes.push_back(std::make_unique<NamedCode>(*isal));
    codes.push_back(std::make_unique<WindowCode>(*isal));
  }
  return codes;
}

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (rounds == 0) {
    std::fprintf(stderr, "usage: fec_bench ROUNDS\n");
    return 2;
  }
  SeededRandom random{1};
  Unicast unicast(random);
  const auto codes = make_codes();
  std::vector<std::unique_ptr<Window>> windows;
  std::vector<Case> cases;
  for (const std::size_t packets : k_windows) {
    windows.push_back(std::make_unique<Window>(packets, random));
    for (const std::size_t distance : k_loss_distances) {
      for (const auto& code : codes) cases.push_back({code.get(), windows.back().get(), distance});
    }
  }
  std::vector<SetCase> sets;
  for (const fec::Kernel* kernel : kernels_here()) {
    for (const auto& [packets, rows] : {std::pair{1, 1}, {23, 4}, {100, 6}, {128, 32}}) {
      sets.emplace_back(*kernel, *windows[1], packets, rows);
    }
  }
  unicast.round();
  for (std::size_t round = 0; round < rounds; ++round) {
    unicast.round();
    for (Case& each : cases) each.round(unicast, random);
    for (SetCase& each : sets) each.round();
  }
  std::printf("{\"make_ns\":%.0f,\"take_ns\":%.0f}\n", median(unicast.makes),
              median(unicast.takes));
  for (const Case& each : cases) each.print();
  for (const SetCase& each : sets) each.print();
  return 0;
}
