// `acknowledgement_bench ROUNDS`: what acknowledgements cost the sender of a stream. A round sends
// 320 packets. The receiver acknowledges every second, tenth or thirty-second of them, and nothing
// else comes from it. The sender then receives all ACKs of the round, and concludes each alone
// (`singly`) or all together (`together`), in turns. Prints a JSON line for each case: nanoseconds
// of one processor per ACK and per packet, medians of the rounds.
#include <algorithm>
#include <cinttypes>
#include <vector>

#include "engine/bare_host.h"

namespace {

using namespace sheaf::quic;
using namespace sheaf::quic::engine_bench;

constexpr std::size_t k_round_packets = 320;
constexpr std::size_t k_warm_up_rounds = 20;

// A sender of a stream without end, and a receiver of which only acknowledgements come back.
class Transfer {
 public:
  Transfer(std::size_t packets_per_ack, bool together, Random& random)
      : packets_per_ack_(packets_per_ack),
        together_(together),
        hosts_(connect_bare(CryptoProvider::kIpsecMb, random)) {
    const auto opened = sender().streams().writer().open(Directionality::kUnidirectional);
    if (!opened) fail("no stream");
    stream_ = *opened;
  }

  // Returns how long the sender took for the acknowledgements of a round.
  Stopwatch::duration round() {
    const auto acknowledgements = acknowledgements_of(send());
    const Time now = current_time();
    const auto start = Stopwatch::now();
    for (const auto& bytes : acknowledgements) {
      hosts_.second.receive({.payload = *bytes, .path = {loopback(2222), loopback(1111)}}, now);
      if (!together_) sender().end_batch(now);
    }
    sender().end_batch(now);
    hosts_.second.drain_events(now);
    const auto took = Stopwatch::now() - start;
    acks_ += acknowledgements.size();
    return took;
  }

  std::size_t packets_per_ack() const { return packets_per_ack_; }
  bool together() const { return together_; }
  std::uint64_t acks() const { return acks_; }
  std::uint64_t packets() const { return packets_; }

 private:
  using Packet = std::unique_ptr<std::vector<std::uint8_t>>;

  Connection& sender() { return hosts_.second.connection(); }
  Connection& receiver() { return hosts_.first.connection(); }

  std::vector<Packet> send() {
    std::vector<Packet> packets;
    while (packets.size() < k_round_packets) {
      SendChunk chunk(Bytes(data_), nullptr, nullptr);
      if (!sender().streams().writer().write(stream_, std::move(chunk), false)) fail("no stream");
      for (TransmitBatch batch = poll(hosts_.second); batch.size > 0; batch = poll(hosts_.second)) {
        for (std::size_t at = 0; at < batch.size; at += batch.segment_size) {
          const std::size_t size = std::min(batch.segment_size, batch.size - at);
          packets.push_back(copy(batch.buffer.subspan(at, size)));
        }
      }
    }
    packets_ += packets.size();
    return packets;
  }

  std::vector<Packet> acknowledgements_of(const std::vector<Packet>& packets) {
    std::vector<Packet> acknowledgements;
    for (std::size_t i = 0; i < packets.size(); ++i) {
      hosts_.first.receive({.payload = *packets[i], .path = {loopback(1111), loopback(2222)}},
                           current_time());
      if ((i + 1) % packets_per_ack_ != 0) continue;
      const TransmitBatch batch = poll(hosts_.first);
      if (batch.size > 0) acknowledgements.push_back(copy(batch.buffer.first(batch.size)));
    }
    const Time now = current_time();
    hosts_.first.drain_events(now);
    StreamReader& reader = receiver().streams().reader();
    for (Bytes next = reader.peek(stream_); !next.empty(); next = reader.peek(stream_)) {
      if (!reader.consume(stream_, next.size(), now)) fail("the stream is gone");
    }
    return acknowledgements;
  }

  TransmitBatch poll(BareHost& host) {
    TransmitBatch batch{.buffer = buffer_, .max_segments = k_batch_packets, .path = {}};
    host.poll_transmit(batch, current_time());
    return batch;
  }
  static Packet copy(Bytes bytes) {
    return std::make_unique<std::vector<std::uint8_t>>(bytes.begin(), bytes.end());
  }

  std::size_t packets_per_ack_;
  bool together_;
  std::pair<BareHost, BareHost> hosts_;
  StreamId stream_;
  std::uint64_t acks_ = 0;
  std::uint64_t packets_ = 0;
  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(64 * 1024, 0x5a);
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(64 * 1024);
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (rounds == 0) {
    std::fprintf(stderr, "usage: acknowledgement_bench ROUNDS\n");
    return 2;
  }
  SeededRandom random{1};
  std::vector<Transfer> transfers;
  for (const std::size_t packets_per_ack : {2, 10, 32}) {
    for (const bool together : {false, true})
      transfers.emplace_back(packets_per_ack, together, random);
  }
  std::vector<std::vector<double>> nanoseconds(transfers.size());
  for (std::size_t round = 0; round < k_warm_up_rounds + rounds; ++round) {
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const auto took = std::chrono::duration<double, std::nano>(transfers[i].round()).count();
      if (round >= k_warm_up_rounds) nanoseconds[i].push_back(took);
    }
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& transfer = transfers[i];
    const auto per_round = static_cast<double>(k_warm_up_rounds + rounds);
    const double took = median(nanoseconds[i]);
    std::printf(
        "{\"packets_per_ack\":%zu,\"conclude\":\"%s\",\"ns_per_ack\":%.0f,"
        "\"ns_per_packet\":%.1f}\n",
        transfer.packets_per_ack(), transfer.together() ? "together" : "singly",
        took / (static_cast<double>(transfer.acks()) / per_round),
        took / (static_cast<double>(transfer.packets()) / per_round));
  }
  return 0;
}
