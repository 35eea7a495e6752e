// Uses two sides randomly over a channel that loses, delays, reorders and duplicates packets.
// Whatever happens, every stream arrives completely or is reset, and nothing is left over.

#include <deque>
#include <map>

#include "stream/stream_end.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

// One direction, with what the sender knows about the fate of its packets.
class Channel {
 public:
  Channel(StreamEnd& from, StreamEnd& to, Random& random, std::uint64_t loss_percent)
      : from_(from), to_(to), random_(random), loss_percent_(loss_percent) {}

  void send() {
    for (int i = 0; i < 20 && from_.wants_to_send(); ++i) {
      StreamPacket packet = from_.send(40 + random_.below(1300));
      ASSERT_LE(packet.bytes.size(), 1340u);
      if (packet.empty()) break;
      flying_.push_back(std::move(packet));
    }
  }
  // Delivers, loses or keeps packets. A packet that was declared lost may arrive all the same, and
  // one that arrived may be declared lost.
  void step() {
    for (std::size_t i = 0; i < flying_.size(); ++i) std::swap(flying_[i], flying_[pick()]);
    for (std::size_t count = flying_.size(); count > 0; --count) {
      StreamPacket packet = std::move(flying_.front());
      flying_.pop_front();
      const std::uint64_t fate = random_.below(100);
      if (fate < loss_percent_) {
        from_.lose(packet);
      } else if (fate < loss_percent_ + 5) {
        from_.lose(packet);
        deliver(packet);
        if (random_.below(2) == 0) from_.acknowledge(packet);
      } else if (fate < loss_percent_ + 10) {
        flying_.push_back(std::move(packet));
      } else {
        deliver(packet);
        if (random_.below(10) == 0) deliver(packet);
        from_.acknowledge(packet);
      }
    }
  }
  bool idle() const { return flying_.empty() && !from_.wants_to_send(); }

 private:
  std::size_t pick() { return random_.below(flying_.size()); }
  void deliver(const StreamPacket& packet) {
    const TransportStatus status = to_.receive(packet);
    ASSERT_TRUE(status) << status.error().reason;
  }

  StreamEnd& from_;
  StreamEnd& to_;
  Random& random_;
  std::uint64_t loss_percent_;
  std::deque<StreamPacket> flying_;
};

// Records what an application knows about one of its streams.
struct Progress {
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  bool ended = false;     // written to the end, or reset
  bool finished = false;  // read to the end, reset or stopped
  bool closed = false;
};

class Application {
 public:
  Application(StreamEnd& end, Role role, Random& random, std::size_t streams)
      : end_(end), role_(role), random_(random), to_open_(streams) {}

  void step() {
    if (to_open_ > 0 && random_.below(3) == 0) {
      const auto directionality =
          random_.below(2) == 0 ? Directionality::kBidirectional : Directionality::kUnidirectional;
      if (const auto id = end_.streams.writer().open(directionality)) {
        --to_open_;
        add(*id);
      }
    }
    for (auto& [id, progress] : streams_) {
      if (!progress.ended && random_.below(4) == 0) write({id}, progress);
    }
    while (const auto event = end_.streams.poll_event()) handle(*event);
    end_.streams.set_rtt(10ms);
    end_.now += 1ms;
  }
  bool done() const {
    if (to_open_ > 0) return false;
    for (const auto& [id, progress] : streams_) {
      if (!progress.closed) return false;
    }
    return true;
  }
  const std::map<std::uint64_t, Progress>& streams() const { return streams_; }

 private:
  void add(StreamId id) {
    ASSERT_FALSE(streams_.contains(id.value)) << "opened twice";
    Progress& progress = streams_[id.value];
    const bool one_way = id.directionality() == Directionality::kUnidirectional;
    progress.ended = one_way && id.initiator() != role_;
    progress.finished = one_way && id.initiator() == role_;
    end_.streams.writer().set_priority(
        id, {static_cast<std::uint8_t>(random_.below(8)), random_.below(2) == 0});
  }
  void write(StreamId id, Progress& progress) {
    if (random_.below(40) == 0) {
      ASSERT_TRUE(end_.streams.writer().reset(id, id.value));
      progress.ended = true;
      return;
    }
    const std::size_t length = random_.below(random_.below(4) == 0 ? 20'000 : 300);
    progress.ended = random_.below(10) == 0;
    const auto bytes = pattern(id.value, progress.written, length);
    const auto taken = end_.streams.writer().write(id, SendChunk::copy_of(bytes), progress.ended);
    if (taken) {
      progress.written += length;
    } else {
      ASSERT_EQ(taken.error(), StreamRefusal::kFinished) << "stopped by the peer";
      progress.ended = true;
    }
  }
  void read(StreamId id, Progress& progress) {
    if (random_.below(60) == 0) {
      ASSERT_TRUE(end_.streams.reader().stop_sending(id, id.value));
      progress.finished = true;
      return;
    }
    std::vector<std::uint8_t> bytes(4000);
    while (!progress.finished) {
      const auto result = end_.streams.reader().read(id, bytes, end_.now);
      ASSERT_TRUE(result);
      ASSERT_TRUE(matches_pattern(id.value, progress.read, Bytes(bytes).first(result->bytes)));
      progress.read += result->bytes;
      progress.finished = result->finished || result->reset;
      if (result->reset) {
        ASSERT_EQ(*result->reset, id.value);
      }
      if (result->bytes < bytes.size()) break;
    }
  }
  void handle(const StreamEvent& event) {
    using Kind = StreamEvent::Kind;
    if (event.kind == Kind::kStreamsAvailable) return;
    if (event.kind == Kind::kOpened) return add(event.stream);
    const auto known = streams_.find(event.stream.value);
    ASSERT_NE(known, streams_.end()) << "event before the stream opened";
    Progress& progress = known->second;
    ASSERT_FALSE(progress.closed) << "event after the stream closed";
    if (event.kind == Kind::kReadable) read(event.stream, progress);
    if (event.kind == Kind::kReset) progress.finished = true;
    if (event.kind == Kind::kStopSending) progress.ended = true;
    if (event.kind == Kind::kAcknowledged) {
      ASSERT_LE(event.value, progress.written);
    }
    if (event.kind == Kind::kClosed) {
      ASSERT_TRUE(progress.ended && progress.finished);
      progress.closed = true;
    }
  }

  StreamEnd& end_;
  Role role_;
  Random& random_;
  std::size_t to_open_;
  std::map<std::uint64_t, Progress> streams_;
};

void transfer(std::uint64_t seed, std::uint64_t loss_percent) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", loss " + std::to_string(loss_percent) + " %");
  SeededRandom random(seed);
  StreamSetConfig config;
  config.initial_stream_window = 1 + random.below(20'000);
  config.max_stream_window = 100'000;
  config.initial_connection_window = 1 + random.below(30'000);
  config.max_connection_window = 200'000;
  config.max_bidirectional_streams = 1 + random.below(20);
  config.max_unidirectional_streams = 1 + random.below(20);
  config.send_buffer = 10'000;
  StreamPair pair(config, config);
  Channel up(pair.client, pair.server, random, loss_percent);
  Channel down(pair.server, pair.client, random, loss_percent);
  Application client(pair.client, Role::kClient, random, 25);
  Application server(pair.server, Role::kServer, random, 25);
  int rounds = 0;
  while (!(client.done() && server.done() && up.idle() && down.idle())) {
    ASSERT_LT(++rounds, 20'000) << "no progress";
    client.step();
    server.step();
    up.send();
    down.send();
    up.step();
    down.step();
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(pair.client.streams.open_streams(), 0u);
  EXPECT_EQ(pair.server.streams.open_streams(), 0u);
  EXPECT_EQ(client.streams().size(), server.streams().size());
}

TEST(StreamTransfer, ArrivesWholeWithoutLoss) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) transfer(seed, 0);
}

TEST(StreamTransfer, ArrivesWholeUnderLossReorderingAndDuplication) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) transfer(seed, 3 + seed % 30);
}

}  // namespace
}  // namespace sheaf::quic
