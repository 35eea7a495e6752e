// Tests how the order of critical-first, the default of gateways, affects downloads that begin one
// after another: small ones overtake large ones, and large ones get the rest.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "emulation/units.h"
#include "sim/addresses.h"
#include "sim/connection_pair.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_order_seed = 5;
constexpr std::uint64_t k_large = 3'000'000;  // 480 ms at 50 Mbit/s
constexpr std::uint64_t k_small = 20'000;

class DownloadOrder : public ::testing::Test {
 protected:
  explicit DownloadOrder(std::size_t queue_bytes = LinkConfig{}.queue_bytes) {
    const AddressPair path{ipv4({10, 0, 0, 1}, 50'000), ipv4({10, 0, 0, 2}, 443)};
    simulation_.connect({"client", path.local}, {"server", path.remote},
                        {.queue_bytes = queue_bytes, .rate = 50_mbps, .delay = 10ms});
    // The windows are so large that flow control decides nothing here.
    ConnectionConfig client;
    client.streams.initial_connection_window = client.streams.max_connection_window = 16'000'000;
    client.streams.initial_stream_window = client.streams.max_stream_window = 8'000'000;
    ConnectionConfig server;
    server.streams.scheduler = StreamSchedulerKind::kCriticalFirst;
    pair_.emplace(simulation_,
                  ConnectionPair::Options{.client = client, .server = server, .path = path});
    bool confirmed = false;
    pair_->client.on_event = [&](const Event& event, Time) {
      confirmed |= std::holds_alternative<HandshakeConfirmedEvent>(event);
    };
    simulation_.run_until([&] { return confirmed; }, 1s);
    pair_->client.on_event = [this](const Event& event, Time now) {
      const auto* stream = std::get_if<StreamEvent>(&event);
      if (stream != nullptr && stream->kind == StreamEvent::Kind::kReadable) {
        read(stream->stream, now);
      }
    };
    pair_->server.on_event = [this](const Event& event, Time) {
      const auto* stream = std::get_if<StreamEvent>(&event);
      if (stream != nullptr && stream->kind == StreamEvent::Kind::kWritable) write(stream->stream);
    };
  }

  StreamId begin(std::uint64_t bytes, const StreamPriority& priority) {
    Connection& server = pair_->server.connection;
    const StreamId stream = *server.streams().writer().open(Directionality::kUnidirectional);
    server.streams().writer().set_priority(stream, priority);
    server.streams().writer().set_expected_bytes(stream, bytes);
    unwritten_[stream] = bytes;
    write(stream);
    return stream;
  }
  void run_for(Duration duration) {
    const Time end = simulation_.now() + duration;
    simulation_.run_until([&] { return simulation_.now() >= end; }, duration);
  }
  // Time of arrival at the client, or nothing before that.
  std::optional<Time> finished(StreamId stream) const {
    const auto found = finished_.find(stream);
    return found == finished_.end() ? std::nullopt : std::optional(found->second);
  }

  Simulation simulation_{k_order_seed};

 private:
  void write(StreamId stream) {
    static const std::vector<std::uint8_t> piece(32'768);
    std::uint64_t& left = unwritten_[stream];
    for (bool room = true; room && left > 0;) {
      const std::size_t size = std::min<std::uint64_t>(piece.size(), left);
      left -= size;
      const auto written = pair_->server.connection.streams().writer().write(
          stream, SendChunk(Bytes(piece.data(), size), nullptr, nullptr), left == 0);
      room = written && *written;
    }
  }
  void read(StreamId stream, Time now) {
    for (;;) {
      const Bytes bytes = pair_->client.connection.streams().reader().peek(stream);
      const auto result =
          pair_->client.connection.streams().reader().consume(stream, bytes.size(), now);
      if (!result) return;
      if (result->finished) finished_[stream] = now;
      if (result->finished || result->bytes == 0) return;
    }
  }

  std::optional<ConnectionPair> pair_;
  std::map<StreamId, std::uint64_t> unwritten_;
  std::map<StreamId, Time> finished_;
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_order_seed)};
};

TEST_F(DownloadOrder, ALargeOneDoesNotHoldUpASmallOneOfEqualUrgency) {
  const StreamId large = begin(k_large, {});
  run_for(150ms);
  const Time asked = simulation_.now();
  const StreamId small = begin(k_small, {});
  run_for(2s);
  ASSERT_TRUE(finished(small) && finished(large));
  // The bound is the data in flight, at most a full window, plus the delay of the path.
  EXPECT_LT(*finished(small) - asked, 100ms);
  EXPECT_GT(*finished(large), *finished(small));
}

TEST_F(DownloadOrder, SmallOnesLeaveTheRestToALargeOneOfEqualUrgency) {
  const Time asked = simulation_.now();
  const StreamId large = begin(k_large, {});
  for (int i = 0; i < 40; ++i) {  // 1 of 6.25 MB/s
    run_for(20ms);
    begin(k_small, {});
  }
  run_for(1s);
  ASSERT_TRUE(finished(large));
  EXPECT_LT(*finished(large) - asked, 800ms);
}

// Nothing is lost: what is sent again arrives later than less urgent data.
class DownloadOrderWithoutLoss : public DownloadOrder {
 protected:
  DownloadOrderWithoutLoss() : DownloadOrder(4 << 20) {}
};

TEST_F(DownloadOrderWithoutLoss, MoreUrgentOnesGoFirstWhateverTheirSize) {
  const StreamId small = begin(k_small, {.urgency = 5});
  const StreamId large = begin(k_large, {.urgency = 1});
  const StreamId late = begin(k_small, {.urgency = 3});
  run_for(2s);
  ASSERT_TRUE(finished(small) && finished(large) && finished(late));
  EXPECT_LT(*finished(large), *finished(late));
  EXPECT_LT(*finished(late), *finished(small));
}

}  // namespace
}  // namespace sheaf::quic
