// Tests that two endpoints allocate nothing per packet once their memory has reached its working
// size.

#include <gtest/gtest.h>

#include <array>

#include "endpoint/endpoint_pair.h"
#include "stream/allocation_counter.h"

namespace sheaf::quic {
namespace {

using namespace std::chrono_literals;

// Two endpoints whose datagrams arrive at once. The test itself uses no memory for them.
class EndpointAllocation : public testing::Test {
 protected:
  static constexpr int k_warm_up = 1000;
  static constexpr int k_rounds = 3000;

  explicit EndpointAllocation(const EndpointPair::Options& options = {})
      : pair_(options), caller_(&pair_.connect()) {
    EXPECT_TRUE(pair_.run_until_confirmed());
    pair_.run_for(1s);
    called_ = pair_.accepted.at(0);
    now_ = pair_.now;
  }

  void send_all(Endpoint& from, Endpoint& to) {
    for (;;) {
      TransmitBatch batch;
      batch.buffer = buffer_;
      from.poll_transmit(batch, now_);
      if (batch.size == 0) return;
      MutableBytes rest = MutableBytes(buffer_).first(batch.size);
      while (!rest.empty()) {
        const MutableBytes datagram = rest.first(std::min(batch.segment_size, rest.size()));
        rest = rest.subspan(datagram.size());
        ++packets_;
        to.receive({datagram, {batch.path.remote, batch.path.local}, batch.ecn}, now_);
      }
    }
  }
  void drain(Endpoint& endpoint) {
    while (ConnectionDriver* driver = endpoint.next_active(now_)) {
      while (const auto event = driver->poll_event(now_)) {
        ASSERT_FALSE(std::holds_alternative<ConnectionClosed>(*event));
        if (const auto* stream = std::get_if<StreamEvent>(&*event)) take(*driver, *stream);
        if (!std::holds_alternative<DatagramReceivedEvent>(*event)) continue;
        while (driver->connection().datagrams().receive()) ++datagrams_;
      }
    }
  }
  void take(ConnectionDriver& driver, const StreamEvent& event) {
    if (event.kind != StreamEvent::Kind::kReadable) return;
    const auto result = driver.connection().streams().reader().read(event.stream, read_, now_);
    ASSERT_TRUE(result);
    bytes_ += result->bytes;
  }
  // Runs 100 µs, in which both sides send everything that they have.
  void turn() {
    now_ += 100us;
    for (Endpoint* endpoint : {pair_.client.get(), pair_.server.get()}) {
      endpoint->on_timeout(now_);
      drain(*endpoint);
    }
    send_all(*pair_.client, *pair_.server);
    send_all(*pair_.server, *pair_.client);
    drain(*pair_.server);
    drain(*pair_.client);
  }

  void write(ConnectionDriver& driver, StreamId stream) {
    ASSERT_TRUE(driver.connection().streams().writer().write(
        stream, SendChunk(lent_, nullptr, nullptr), false));
    ASSERT_TRUE(driver.connection().datagrams().send(Bytes(lent_).first(1000), 1));
    pair_.wake(driver);
  }

  // Lets both sides send for a while, and counts allocations after the working size is reached.
  void exchange() {
    const StreamId stream =
        *caller_->connection().streams().writer().open(Directionality::kBidirectional);
    write(*caller_, stream);
    for (int i = 0; i < 100; ++i) turn();
    std::size_t before = 0;
    for (int round = 0; round < k_rounds; ++round) {
      if (round == k_warm_up) {
        before = allocation_count();
        packets_ = bytes_ = datagrams_ = 0;
      }
      write(*caller_, stream);
      write(*called_, stream);
      for (int i = 0; i < 10; ++i) turn();
    }
    const std::size_t allocated = allocation_count() - before;
    EXPECT_GT(before, 0u) << "the counter works";
    EXPECT_EQ(bytes_, 2u * (k_rounds - k_warm_up) * lent_.size());
    EXPECT_EQ(datagrams_, 2u * (k_rounds - k_warm_up));
    EXPECT_EQ(allocated, 0u) << "in " << packets_ << " packets";
  }

  EndpointPair pair_;
  ConnectionDriver* caller_;
  ConnectionDriver* called_ = nullptr;
  Time now_{};
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(65536);
  std::array<std::uint8_t, 20'000> lent_{};
  std::array<std::uint8_t, 100'000> read_;
  std::uint64_t packets_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t datagrams_ = 0;
};

// Jumbo frames, which such a short path carries, are off.
class OrdinaryEndpointAllocation : public EndpointAllocation {
 protected:
  static EndpointPair::Options options() {
    EndpointPair::Options options;
    options.connection.initial_udp_payload_size = 1452;
    options.connection.discover_mtu = false;
    return options;
  }
  OrdinaryEndpointAllocation() : EndpointAllocation(options()) {}
};

TEST_F(OrdinaryEndpointAllocation, NoneForPacketsInAndOut) {
  exchange();
  EXPECT_GT(packets_, 50'000u);
}

TEST_F(EndpointAllocation, NoneForJumboFrames) {
  exchange();
  EXPECT_EQ(caller_->connection().paths().stats().at(0).mtu, 8952);
  EXPECT_EQ(called_->connection().paths().stats().at(0).mtu, 8952);
  EXPECT_GT(packets_, 10'000u);
}

}  // namespace
}  // namespace sheaf::quic
