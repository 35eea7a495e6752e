#include <gtest/gtest.h>

#include "channel_request/request_pair.h"
#include "stream/allocation_counter.h"

namespace sheaf::channel_request {
namespace {

// What a receiver may cost the source beside its connection
constexpr std::size_t k_max_bytes = 2048;
constexpr std::size_t k_packets = 400;
constexpr std::size_t k_measured = 8;
// Its places in lists of the source, which are used again and so not measured, and the entry of its
// network. Where the rate follows receivers, there is one more list.
constexpr std::size_t k_places = 152 + 96;
constexpr std::size_t k_rate_place = 72;

quic::ChannelOffer repaired_offer() {
  quic::ChannelOffer offer = quic::example_offer();
  offer.authentication = {};
  offer.repairs = true;
  offer.reach = 2048;
  offer.max_rate = 12'500'000;
  offer.deadline = 20s;
  return offer;
}

class Nobody final : public http3::DatagramConsumer {
  void on_datagram(http3::HttpDatagram) override {}
};

// Receivers of one source, on connections of their own. They say what makes the source remember
// most.
class GreedyReceivers {
 public:
  explicit GreedyReceivers(std::uint64_t slowest_rate = 0)
      : shared_(repaired_offer(), 1400, nullptr, slowest_rate) {
    const auto group = *shared_.source.open_group();
    const std::string text(k_packets * shared_.source.packet_size(), 'x');
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    for (std::size_t done = 0; done < bytes.size();) {
      done += shared_.source.write(group, bytes.subspan(done), false).bytes;
      shared_.run(100ms);
    }
  }

  RequestPair& connect() {
    RequestPair& pair = *pairs_.emplace_back(std::make_unique<RequestPair>(repaired_offer()));
    pair.http.client.reading = true;
    pair.http.client.session.datagrams().claim(pair.stream, copies_);
    return pair;
  }

  void add(RequestPair& pair) {
    pair.now = shared_.now;
    pair.at_source.emplace(ChannelRequest::Place{pair.http.server.session, pair.stream, 3},
                           shared_.source, pair.now);
    join(pair);
  }
  // Lets so many report intervals pass, in each of which all of them report.
  void pass(int intervals) {
    for (int i = 0; i < intervals; ++i) {
      shared_.now += 100ms;
      for (const auto& each : pairs_) {
        each->now = shared_.now;
        if (each->at_source) report(*each);
      }
      while (!shared_.source.poll_repair(shared_.now).empty()) {
      }
    }
  }
  const quic::ChannelSource& source() const { return shared_.source; }

 private:
  void join(RequestPair& pair) {
    const quic::ChannelSource& source = shared_.source;
    for (const auto state :
         {quic::ListenState::kWant, quic::ListenState::kJoined, quic::ListenState::kReceiving}) {
      pair.write(pair.http.client, quic::ChannelState{.channel = source.offer().channel,
                                                      .offer = source.offer().sequence,
                                                      .state = state,
                                                      .number = source.ring().end()});
    }
  }
  // As many ranges as a report has, of several packets each
  void report(RequestPair& pair) {
    quic::ChannelReport report;
    report.channel = shared_.source.offer().channel;
    report.sequence = ++sequence_;
    report.end = shared_.source.ring().end();
    for (std::uint64_t i = 1; i <= quic::ChannelReport::k_max_missing; ++i) {
      report.missing.push_back({report.end - 5 * i, report.end - 5 * i + 2});
    }
    std::array<std::uint8_t, quic::k_max_channel_report> buffer;
    quic::Writer out(buffer);
    quic::write_channel_report(out, report);
    pair.send(pair.http.client, out.written());
  }

  Nobody copies_;
  RequestPair shared_;
  std::vector<std::unique_ptr<RequestPair>> pairs_;
  std::uint64_t sequence_ = 0;
};

// Returns the bytes that the source has for a receiver.
std::size_t bytes_of_receiver(std::uint64_t slowest_rate) {
  GreedyReceivers receivers(slowest_rate);
  std::vector<RequestPair*> measured;
  for (std::size_t i = 0; i < k_measured; ++i) measured.push_back(&receivers.connect());
  // Others stay, since what one alone misses is copied and not repaired. By the end of the first
  // requests, connections and what all receivers share are as large as they become.
  for (int i = 0; i < 2; ++i) receivers.add(receivers.connect());
  for (RequestPair* pair : measured) receivers.add(*pair);
  receivers.pass(10);
  for (RequestPair* pair : measured) pair->at_source.reset();
  const std::size_t before = quic::live_bytes();
  for (RequestPair* pair : measured) receivers.add(*pair);
  receivers.pass(10);
  const std::size_t taken = (quic::live_bytes() - before) / k_measured + sizeof(SourceRequest) +
                            k_places + (slowest_rate > 0 ? k_rate_place : 0);
  for (RequestPair* pair : measured) EXPECT_FALSE(pair->at_source->over());
  EXPECT_EQ(receivers.source().counts().refused_reports, 0u);
  EXPECT_GT(receivers.source().repair_counts().repairs, 0u);
  EXPECT_GT(taken, quic::ChannelReport::k_max_missing * 8) << "its report is kept";
  return taken;
}

TEST(SourceMemory, AReceiverTakesLittleBesideItsConnection) {
  const std::size_t taken = bytes_of_receiver(0);
  EXPECT_LE(taken, k_max_bytes);
  RecordProperty("bytes", std::to_string(taken));
}

TEST(SourceMemory, AReceiverThatTheRateFollowsTakesLittleMore) {
  const std::size_t taken = bytes_of_receiver(6'000'000);
  EXPECT_LE(taken, k_max_bytes);
  RecordProperty("bytes", std::to_string(taken));
}

}  // namespace
}  // namespace sheaf::channel_request
