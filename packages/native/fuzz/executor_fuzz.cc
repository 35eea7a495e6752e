#include <cstdlib>
#include <map>
#include <set>

#include "crypto/packet_protection.h"
#include "direct_return/executor.h"
#include "direct_return/held_payload.h"
#include "direct_return/phase_sealer.h"

namespace {

using namespace sheaf::quic;

constexpr std::uint32_t k_session = 1;
constexpr std::uint64_t k_process = 2;
constexpr std::uint8_t k_connections = 4;
constexpr PacketNumber k_max_numbers = 1u << 31;

Address address(std::uint8_t last) {
  return {.ip = {203, 0, 113, last}, .port = 443, .family = Address::Family::kIpv4};
}

// Calls a backend's executor in an order that the input chooses, with datagrams from the input, as
// far as a gateway may say them: it uses no number of a grant twice, and no number of a packet for
// a second grant. Checks that limits hold, that the executor sends from permitted addresses alone,
// that the packet numbers of a connection rise over all that it sends, so that no nonce comes
// twice, that it never sends a run which it has refused, or takes one of a datagram that is void or
// known, and that what it says can be read.
class Calls {
 public:
  explicit Calls(Bytes input) : in_(input) {
    keys_.packet.key_length = keys_.header.key_length = key_length(keys_.suite);
    header_ = make_header_protection(keys_.suite, keys_.header, CryptoProvider::kAutomatic);
  }

  void run() {
    while (!in_.empty()) {
      call(in_.read_u8() % 8);
      check(executor_.grants() <= 8 && executor_.waiting_runs() <= 32);
    }
  }

 private:
  // What the gateway and the network know of a connection
  struct Seen {
    PacketNumber handed_out = 0;  // one above the highest number in a run
    PacketNumber next = 0;        // one above the last number that was sent
    std::set<PacketNumber> refused;
  };

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
    if (which == 7) executor_.on_available(in_.read_u8());
  }

  void accept() {
    Grant grant;
    grant.process = k_process;
    grant.id = ++grants_;
    const std::uint8_t first = in_.read_u8();
    grant.connection = in_.read_u8() % k_connections;
    connection_of_[grant.id] = grant.connection;
    grant.keys = keys_;
    grant.keys.generation = in_.read_u8();
    grant.keys.first_number =
        std::max<PacketNumber>(in_.read_u16(), seen_[grant.connection].handed_out);
    grant.addresses = {address(1), client(grant.connection)};
    grant.first_offset = in_.read_u8();
    grant.limit = grant.first_offset + in_.read_u16();
    if (first % 2 == 1) return accept_with_packet(grant, first);
    auto source = std::make_unique<HeldPayload>(grant.first_offset);
    source->append(std::vector<std::uint8_t>(in_.read_u16()));
    static_cast<void>(executor_.accept(grant, std::move(source), now_));
  }

  // Its number is a new one. Its bytes may not be there, and the request may have come long before.
  void accept_with_packet(Grant& grant, std::uint8_t bytes) {
    grant.first_offset = 0;
    grant.first = {.number = grant.keys.first_number, .bytes = bytes, .lifetime = 1ms};
    seen_[grant.connection].handed_out = grant.first.number + 1;
    auto source = std::make_unique<HeldPayload>(0);
    source->append(std::vector<std::uint8_t>(in_.read_u8()));
    const Executor::Whole whole{.end = in_.read_u8(), .asked_at = now_ - 16us * in_.read_u8()};
    static_cast<void>(executor_.accept(grant, std::move(source), now_, whole));
  }

  // Packets show by their destination to which connection they belong.
  static Address client(std::uint64_t connection) {
    return address(static_cast<std::uint8_t>(10 + connection % k_connections));
  }

  void receive() {
    std::vector<std::uint8_t> bytes{0, 0, 0, k_session};
    const Bytes rest = in_.read_bytes(std::min<std::size_t>(in_.read_u8(), in_.remaining()));
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    auto datagram = decode_run_datagram(bytes);
    if (datagram) {
      datagram->number %= 1024;
      bytes = encode_run_datagram(*datagram);
      if (auto* runs = std::get_if<std::vector<RunMessage>>(&datagram->messages)) {
        // A packet shows the low 32 bits of its number.
        std::erase_if(*runs, [](const RunMessage& run) { return run.first >= k_max_numbers; });
        if (runs->empty()) return;
        for (const RunMessage& run : *runs) hand_out(run);
        return receive_runs(*datagram);
      } else if (auto* phases = std::get_if<std::vector<PhaseChange>>(&datagram->messages)) {
        for (PhaseChange& phase : *phases) seal(phase);
        bytes = encode_run_datagram(*datagram);
      } else if (auto* moves = std::get_if<std::vector<AddressChange>>(&datagram->messages)) {
        for (AddressChange& move : *moves) {
          move.addresses.remote = client(move.connection);
          move.client_id = {};
        }
        bytes = encode_run_datagram(*datagram);
      }
    }
    executor_.receive(bytes, now_);
  }

  // A gateway gives no number to two datagrams, so what has that of an earlier one repeats it.
  void receive_runs(RunDatagram& datagram) {
    const auto [known, added] = said_.try_emplace(datagram.number, encode_run_datagram(datagram));
    const std::uint64_t unwanted = executor_.stats().unwanted;
    check(executor_.receive(known->second, now_));
    const bool taken = executor_.stats().unwanted == unwanted;
    check(!taken || (!void_.contains(datagram.number) && taken_.insert(datagram.number).second));
  }

  // The bytes in the place of the sealed ones are the keys.
  void seal(PhaseChange& phase) const {
    PhaseKeys next = keys_;
    next.generation = phase.generation;
    next.first_number = phase.first_number;
    std::copy_n(phase.sealed.begin(), next.packet.key_length, next.packet.key.begin());
    phase = PhaseSealer(keys_).seal(phase.connection, next);
  }

  void hand_out(const RunMessage& run) {
    const auto connection = connection_of_.find(run.grant);
    if (connection == connection_of_.end()) return;
    Seen& seen = seen_[connection->second];
    seen.handed_out = std::max(seen.handed_out, run.first + run.packets);
  }

  void send() {
    TransmitBatch batch;
    batch.buffer = buffer_;
    while (executor_.poll_transmit(batch, now_)) {
      check(batch.size > 0 && batch.size <= buffer_.size() && batch.segments() <= 32);
      check(batch.path.local == address(1));
      Seen& seen = seen_[batch.path.remote.ip[3] - 10u];
      bool first = true;
      for (std::size_t at = 0; at < batch.size; at += batch.segment_size) {
        const PacketNumber number = number_of(batch.buffer.subspan(at, batch.segment_size));
        check(number >= seen.next);
        if (std::exchange(first, false)) check(!seen.refused.contains(number));
        seen.next = number + 1;
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
      const auto datagram = decode_run_datagram(bytes);
      check(bool(datagram));
      if (const auto* all = std::get_if<std::vector<Progress>>(&datagram->messages)) {
        for (const Progress& progress : *all) note_refused(progress);
      }
      if (const auto* lost = std::get_if<std::vector<VoidRuns>>(&datagram->messages)) {
        for (const VoidRuns& one : *lost) {
          check(!taken_.contains(one.datagram));
          void_.insert(one.datagram);
        }
      }
    }
    check(false);  // it never has so much to say
  }

  void note_refused(const Progress& progress) {
    Seen& seen = seen_[connection_of_.at(progress.grant)];
    for (const PacketNumber first : progress.newest_refused.view()) seen.refused.insert(first);
  }

  Reader in_;
  Time now_{1s};
  SeededRandom random_{1};
  PhaseKeys keys_;
  std::unique_ptr<HeaderProtection> header_;
  GrantId grants_ = 0;
  std::map<GrantId, std::uint64_t> connection_of_;
  std::array<Seen, k_connections> seen_;
  std::map<std::uint64_t, std::vector<std::uint8_t>> said_;  // datagrams with runs, by number
  std::set<std::uint64_t> taken_;                            // of these
  std::set<std::uint64_t> void_;                             // that the executor told
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
