// Tests streams whose bytes are in part at another node (stream/remote_streams.h).

#include <algorithm>
#include <map>

#include "stream/stream_end.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::uint8_t k_sender = 3;
constexpr std::size_t k_payload = 1000;  // bytes of a packet of a run

// A run, with the packets that its sender makes of it.
struct PacketRun {
  std::uint8_t sender = 0;
  std::vector<StreamPacket> packets;
};

StreamPacket packet_of_run(StreamId id, std::uint64_t offset, std::size_t length, bool fin) {
  StreamPacket packet;
  packet.bytes.resize(length + 32);
  Writer writer(packet.bytes);
  encode(writer,
         StreamFrameHeader{
             .stream = id, .offset = offset, .length = length, .fin = fin, .has_length = false});
  writer.write_bytes(pattern(id.value, offset, length));
  packet.bytes.resize(writer.size());
  packet.frames = {SentFrame::for_data(id, offset, static_cast<std::uint32_t>(length), fin)};
  return packet;
}

// Orders a run of at most `longest` packets. Without remote data to send it has no packets.
PacketRun order(StreamEnd& end, std::size_t longest = 32) {
  PacketRun run;
  const auto turn = end.streams.outgoing().peek_remote({});
  if (!turn) return run;
  run.sender = turn->sender;
  const std::uint64_t bytes = std::min<std::uint64_t>(turn->segment.length, longest * k_payload);
  for (std::uint64_t sent = 0; sent < bytes; sent += k_payload) {
    const std::size_t length = std::min<std::uint64_t>(bytes - sent, k_payload);
    const bool last = sent + length == turn->segment.length;
    run.packets.push_back(
        packet_of_run(turn->id, turn->segment.offset + sent, length, last && turn->ends));
  }
  end.streams.outgoing().take_remote(*turn, bytes);
  end.streams.outgoing().end_turn(turn->id, run.packets.size(), {});
  return run;
}

class RemoteStreamsTest : public testing::Test {
 protected:
  StreamId open_with_head(std::size_t head) {
    const StreamId id = pair_.open(Directionality::kUnidirectional);
    client_.write(id, head);
    EXPECT_EQ(*remote_.assign(id, k_sender), head);
    return id;
  }
  void deliver(const PacketRun& run) {
    for (const StreamPacket& packet : run.packets) deliver(packet);
  }
  void deliver(const StreamPacket& packet) {
    ASSERT_TRUE(server_.receive(packet));
    client_.acknowledge(packet);
  }
  void lose(const PacketRun& run) {
    for (const StreamPacket& packet : run.packets) client_.lose(packet);
  }

  StreamPair pair_;
  StreamEnd& client_ = pair_.client;
  StreamEnd& server_ = pair_.server;
  RemoteStreams& remote_ = client_.streams.remote();
};

TEST_F(RemoteStreamsTest, AResetForgetsNotWhatThePeerHas) {
  const StreamId id = open_with_head(300);
  ASSERT_TRUE(remote_.append(id, 50'000, true));
  deliver(client_.send());
  deliver(order(client_, 7));
  const PacketRun rest = order(client_, 5);
  ASSERT_TRUE(client_.streams.writer().reset(id, 7));
  EXPECT_EQ(remote_.acknowledged(id), 7'300u);
  for (const StreamPacket& packet : rest.packets) client_.acknowledge(packet);
  EXPECT_EQ(remote_.acknowledged(id), 7'300u);
}

TEST_F(RemoteStreamsTest, AHeadIsFollowedByRuns) {
  const StreamId id = open_with_head(300);
  ASSERT_TRUE(remote_.append(id, 50'000, true));
  EXPECT_FALSE(client_.streams.outgoing().peek_remote({})) << "the head is first";
  const StreamPacket head = client_.send();
  EXPECT_EQ(head.all<StreamFrame>().at(0).data.size(), 300u);
  EXPECT_EQ(head.frames.size(), 1u) << "the packet ends where remote bytes begin";
  EXPECT_TRUE(client_.send().empty());
  const PacketRun first = order(client_);
  const PacketRun second = order(client_);
  EXPECT_EQ(first.sender, k_sender);
  EXPECT_EQ(first.packets.size(), 32u);
  EXPECT_EQ(second.packets.size(), 18u);
  EXPECT_TRUE(order(client_).packets.empty());
  EXPECT_FALSE(client_.wants_to_send());
  EXPECT_EQ(remote_.numbered(id), 50'300u);
  deliver(head);
  deliver(second);
  EXPECT_EQ(remote_.acknowledged(id), 300u);
  deliver(first);
  EXPECT_EQ(client_.event_text(), "closed 2") << "and no event for remote bytes";
  EXPECT_TRUE(matches_pattern(id.value, 0, server_.streams.reader().peek(id)));
  const ReadResult result = server_.read(id);
  EXPECT_EQ(result.bytes, 50'300u);
  EXPECT_TRUE(result.finished);
}

TEST_F(RemoteStreamsTest, BytesAreOrderedAsTheSenderGetsThem) {
  const StreamId id = open_with_head(10);
  deliver(client_.send());
  EXPECT_TRUE(order(client_).packets.empty());
  ASSERT_TRUE(remote_.append(id, 2500, false));
  EXPECT_EQ(order(client_).packets.size(), 3u);
  ASSERT_TRUE(remote_.append(id, 1000, false));
  const PacketRun run = order(client_);
  ASSERT_EQ(run.packets.size(), 1u);
  EXPECT_EQ(run.packets[0].frames[0].offset(), 2510u);
  // The end is told later. The gateway sends it alone.
  ASSERT_TRUE(remote_.append(id, 0, true));
  EXPECT_FALSE(remote_.append(id, 1, false)) << "nothing follows the end";
  const StreamPacket end = client_.send();
  EXPECT_TRUE(end.all<StreamFrame>().at(0).fin);
  EXPECT_EQ(end.all<StreamFrame>().at(0).offset, 3510u);
}

TEST_F(RemoteStreamsTest, WhatIsLostGoesToTheSenderAgain) {
  const StreamId id = open_with_head(300);
  ASSERT_TRUE(remote_.append(id, 10'000, true));
  const StreamPacket head = client_.send();
  const PacketRun run = order(client_);
  client_.lose(head);
  client_.lose(run.packets[0]);
  client_.lose(run.packets[9]);
  client_.lose(run.packets[4]);
  client_.acknowledge(run.packets[4]);  // it arrived after all
  deliver(client_.send());
  const PacketRun again = order(client_);
  const PacketRun last = order(client_);
  ASSERT_EQ(again.packets.size(), 1u);
  EXPECT_EQ(again.packets[0].frames[0].offset(), 300u);
  ASSERT_EQ(last.packets.size(), 1u);
  EXPECT_EQ(last.packets[0].frames[0].offset(), 9300u);
  EXPECT_TRUE(last.packets[0].frames[0].fin());
  EXPECT_TRUE(order(client_).packets.empty());
}

TEST_F(RemoteStreamsTest, CreditOfStreamAndConnectionBoundsRuns) {
  StreamSetConfig narrow;
  narrow.initial_stream_window = narrow.max_stream_window = 5000;
  narrow.initial_connection_window = narrow.max_connection_window = 7000;
  StreamPair pair({}, narrow);
  RemoteStreams& remote = pair.client.streams.remote();
  const StreamId first = pair.open();
  const StreamId second = pair.open();
  for (const StreamId id : {first, second}) {
    ASSERT_TRUE(remote.assign(id, k_sender));
    ASSERT_TRUE(remote.append(id, 100'000, true));
  }
  EXPECT_EQ(order(pair.client).packets.size(), 5u);
  EXPECT_EQ(order(pair.client).packets.size(), 2u);
  EXPECT_TRUE(order(pair.client).packets.empty());
  const StreamPacket blocked = pair.client.send();
  EXPECT_EQ(blocked.all<StreamDataBlockedFrame>().size(), 1u);
  EXPECT_EQ(blocked.all<DataBlockedFrame>().size(), 1u);
}

TEST_F(RemoteStreamsTest, AnotherNodeGoesOnInTheMiddle) {
  const StreamId id = open_with_head(300);
  ASSERT_TRUE(remote_.append(id, 20'000, false));
  deliver(client_.send());
  const PacketRun run = order(client_, 10);
  deliver(packet_of_run(id, 300, 1000, false));
  client_.lose(run.packets[3]);
  client_.lose(run.packets[4]);
  // Its sender is gone: nothing more goes to it.
  remote_.withhold(id, true);
  EXPECT_TRUE(order(client_).packets.empty());
  EXPECT_FALSE(client_.wants_to_send());
  EXPECT_EQ(remote_.acknowledged(id), 1300u);
  // This node gets the first part, which covers lost bytes, and sends those alone.
  ASSERT_TRUE(client_.streams.writer().replace(
      id, 1300, SendChunk::copy_of(pattern(id.value, 1300, 3500)), false));
  const StreamPacket repeated = client_.send();
  ASSERT_EQ(repeated.all<StreamFrame>().size(), 1u);
  EXPECT_EQ(repeated.all<StreamFrame>()[0].offset, 3300u);
  EXPECT_GT(repeated.all<StreamFrame>()[0].data.size(), 1100u);
  deliver(repeated);
  client_.flush_to(server_);
  EXPECT_FALSE(client_.wants_to_send()) << "the rest of the loss is still remote";
  // Another sender goes on from there.
  ASSERT_TRUE(remote_.assign(id, k_sender + 1));
  remote_.withhold(id, false);
  ASSERT_TRUE(remote_.append(id, 700, true));
  const PacketRun rest = order(client_);
  EXPECT_EQ(rest.sender, k_sender + 1);
  ASSERT_EQ(rest.packets.size(), 1u);
  EXPECT_EQ(rest.packets[0].frames[0].offset(), 4800u);
  EXPECT_EQ(rest.packets[0].frames[0].length(), 500u);
  deliver(rest);
  for (PacketRun more = order(client_); !more.packets.empty(); more = order(client_)) deliver(more);
  for (const StreamPacket& packet : run.packets) deliver(packet);
  EXPECT_TRUE(matches_pattern(id.value, 0, server_.streams.reader().peek(id)));
  EXPECT_EQ(server_.read(id).bytes, 21'000u);
}

TEST_F(RemoteStreamsTest, ThisNodeSendsTheRestItself) {
  const StreamId id = open_with_head(300);
  ASSERT_TRUE(remote_.append(id, 20'000, false));
  deliver(client_.send());
  lose(order(client_, 10));
  remote_.withhold(id, true);
  StreamWriter& writer = client_.streams.writer();
  for (std::uint64_t offset = 300; offset < 30'300; offset += 2500) {
    ASSERT_TRUE(writer.replace(id, offset, SendChunk::copy_of(pattern(id.value, offset, 2500)),
                               offset + 2500 == 30'300));
    EXPECT_FALSE(client_.streams.outgoing().peek_remote({}));
    client_.flush_to(server_);
  }
  EXPECT_TRUE(matches_pattern(id.value, 0, server_.streams.reader().peek(id)));
  const ReadResult result = server_.read(id);
  EXPECT_EQ(result.bytes, 30'300u);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(client_.event_text(), "closed 2");
}

TEST_F(RemoteStreamsTest, AFullBufferOfReplacedBytesRefusesMore) {
  StreamSetConfig config;
  config.send_buffer = 10'000;
  StreamPair pair(config);
  const StreamId id = pair.open();
  ASSERT_TRUE(pair.client.streams.remote().assign(id, k_sender));
  const std::size_t memory = pair.client.streams.memory().used();
  ASSERT_TRUE(pair.client.streams.remote().append(id, 1 << 20, false));
  EXPECT_EQ(pair.client.streams.memory().used(), memory) << "remote bytes take none";
  pair.client.streams.remote().withhold(id, true);
  StreamWriter& writer = pair.client.streams.writer();
  const auto replace = [&](std::uint64_t offset) {
    return *writer.replace(id, offset, SendChunk::copy_of(pattern(0, offset, 6000)), false);
  };
  EXPECT_TRUE(replace(0));
  EXPECT_FALSE(replace(6000));
  pair.flush();
  EXPECT_EQ(pair.client.event_text(), "writable 0");
  EXPECT_TRUE(replace(12'000));
}

TEST_F(RemoteStreamsTest, AResetEndsRuns) {
  const StreamId id = open_with_head(300);
  ASSERT_TRUE(remote_.append(id, 20'000, true));
  deliver(client_.send());
  const PacketRun run = order(client_, 5);
  lose(order(client_, 5));
  ASSERT_TRUE(client_.streams.writer().reset(id, 7));
  EXPECT_TRUE(order(client_).packets.empty());
  const StreamPacket reset = client_.send();
  ASSERT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].final_size, 10'300u) << "all that was ordered";
  EXPECT_FALSE(remote_.append(id, 1000, false));
  deliver(reset);
  deliver(run);  // which arrives late
  EXPECT_EQ(client_.event_text(), "closed 2");
}

TEST_F(RemoteStreamsTest, StreamsThatCannotBeLeftToASender) {
  EXPECT_EQ(remote_.assign({400}, k_sender).error(), StreamRefusal::kUnknownStream);
  const StreamId pinned = pair_.open();
  ASSERT_TRUE(client_.streams.pinned().pin(pinned, PathId{1}, false));
  EXPECT_EQ(remote_.assign(pinned, k_sender).error(), StreamRefusal::kElsewhere);
  const StreamId ended = pair_.open();
  client_.write(ended, 10, true);
  EXPECT_EQ(remote_.assign(ended, k_sender).error(), StreamRefusal::kFinished);
  EXPECT_EQ(remote_.append(ended, 10, true).error(), StreamRefusal::kElsewhere);
}

// A packet with data on another path repeats no remote bytes.
TEST_F(RemoteStreamsTest, NoCopyIsMadeOfRemoteBytes) {
  const StreamId id = open_with_head(300);
  ASSERT_TRUE(remote_.append(id, 2000, false));
  deliver(client_.send());
  SentFrame frame = order(client_).packets[0].frames[0];
  std::vector<std::uint8_t> room(1200);
  Writer writer(room);
  SentPackets sent;
  EXPECT_TRUE(client_.streams.outgoing().write_copy(frame, writer, sent));
  EXPECT_EQ(writer.size(), 0u);
}

// --- priorities ---------------------------------------------------------------------------------

constexpr int k_streams = 5;

// Sends from five streams, of which some are remote, until a client has got so many bytes. Returns
// the bytes of each.
std::array<std::uint64_t, k_streams> share(StreamSchedulerKind scheduler, int remote_streams,
                                           const std::array<StreamPriority, k_streams>& priorities,
                                           std::uint64_t total) {
  StreamSetConfig config;
  config.scheduler = scheduler;
  config.initial_connection_window = config.initial_stream_window = 100 << 20;
  config.max_connection_window = config.max_stream_window = 100 << 20;
  StreamPair pair(config, config);
  std::array<StreamId, k_streams> ids;
  for (int i = 0; i < k_streams; ++i) {
    ids[i] = pair.open(Directionality::kUnidirectional);
    StreamPriority priority = priorities[i];
    priority.dependency.node = ids[i].value + 1;
    pair.client.streams.writer().set_priority(ids[i], priority);
    pair.client.streams.writer().set_expected_bytes(ids[i], 1 << 20);
  }
  for (int i = 0; i < k_streams; ++i) {
    if (i < remote_streams) {
      EXPECT_TRUE(pair.client.streams.remote().assign(ids[i], k_sender));
      EXPECT_TRUE(pair.client.streams.remote().append(ids[i], 1 << 20, true));
    } else {
      pair.client.write(ids[i], 1 << 20, true);
    }
  }
  std::array<std::uint64_t, k_streams> bytes{};
  std::uint64_t sent = 0;
  const auto count = [&](const StreamPacket& packet) {
    for (const SentFrame& frame : packet.frames) {
      bytes[std::ranges::find(ids, frame.stream()) - ids.begin()] += frame.length();
      sent += frame.length();
    }
  };
  while (sent < total) {
    const PacketRun run = order(pair.client);
    for (const StreamPacket& packet : run.packets) count(packet);
    if (!run.packets.empty()) continue;
    // A packet whose frames carry as much as one of a run.
    const StreamPacket packet = pair.client.send(k_payload + 6);
    if (packet.empty()) break;
    count(packet);
  }
  return bytes;
}

TEST_F(RemoteStreamsTest, ObeysPrioritiesAsIfAllBytesWereHere) {
  std::array<StreamPriority, k_streams> incremental;
  incremental.fill({.urgency = 3, .incremental = true});
  std::array<StreamPriority, k_streams> mixed = incremental;
  mixed[1].urgency = 1;
  mixed[4].urgency = 1;
  std::array<StreamPriority, k_streams> ranked;
  for (int i = 0; i < k_streams; ++i) ranked[i].urgency = static_cast<std::uint8_t>(6 - i);
  for (const NamedStreamScheduler& scheduler : k_all_stream_schedulers) {
    for (const auto& priorities : {incremental, mixed, ranked}) {
      for (const std::uint64_t total : {600'000u, 2'000'000u}) {
        SCOPED_TRACE(std::string(scheduler.name) + ", " + std::to_string(total) + " bytes");
        const auto here = share(scheduler.kind, 0, priorities, total);
        const auto part = share(scheduler.kind, 3, priorities, total);
        for (int i = 0; i < k_streams; ++i) {
          // Each stream may be a run ahead.
          EXPECT_NEAR(static_cast<double>(here[i]), static_cast<double>(part[i]),
                      2 * 33 * k_payload)
              << "stream " << i;
        }
      }
    }
  }
}

// --- random operations --------------------------------------------------------------------------

// Where a byte of a stream is.
enum class Place : std::uint8_t { kHere, kRemote };

class RandomRemote {
 public:
  explicit RandomRemote(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 4; ++i) ids_.push_back(pair_.open(Directionality::kUnidirectional));
  }

  void run() {
    for (int step = 0; step < 150; ++step) {
      change(ids_[random_.below(ids_.size())]);
      send();
      settle(random_.below(3) == 0);
      if (testing::Test::HasFailure()) return;
    }
    for (const StreamId id : ids_) {
      client().streams.remote().withhold(id, false);
      append(id, 100, true);
    }
    while (client().wants_to_send() || !flight_.empty()) {
      if (client().wants_to_send()) send();
      settle(true);
      if (testing::Test::HasFailure()) return;
    }
    check_end();
  }

 private:
  StreamEnd& client() { return pair_.client; }

  void append(StreamId id, std::size_t length, bool fin) {
    std::vector<Place>& map = maps_[id];
    const bool remote = client().streams.remote().contains(id);
    if (remote) {
      ASSERT_TRUE(client().streams.remote().append(id, length, fin));
    } else {
      client().write(id, length, fin, map.size());
    }
    map.resize(map.size() + length, remote ? Place::kRemote : Place::kHere);
  }

  void change(StreamId id) {
    std::vector<Place>& map = maps_[id];
    RemoteStreams& remote = client().streams.remote();
    switch (random_.below(6)) {
      case 0:
        if (map.size() > 500) {
          ASSERT_TRUE(remote.assign(id, static_cast<std::uint8_t>(1 + random_.below(8))));
        }
        break;
      case 1: {
        // From a byte that is missing, as far as bytes are remote.
        if (!remote.contains(id)) break;
        std::uint64_t start = remote.acknowledged(id) + random_.below(3000);
        while (start < map.size() && map[start] != Place::kRemote) ++start;
        if (start >= map.size()) break;
        std::uint64_t end = start;
        const std::uint64_t most = start + 1 + random_.below(4000);
        while (end < map.size() && end < most && map[end] == Place::kRemote) ++end;
        ASSERT_TRUE(client().streams.writer().replace(
            id, start, SendChunk::copy_of(pattern(id.value, start, end - start)), false));
        std::fill(map.begin() + start, map.begin() + end, Place::kHere);
        break;
      }
      case 2:
        remote.withhold(id, random_.below(2) == 0);
        break;
      default:
        append(id, random_.below(6000), false);
    }
  }

  void send() {
    for (std::size_t packets = random_.below(6); packets > 0; --packets) {
      PacketRun run = order(client(), 1 + random_.below(8));
      if (run.packets.empty()) {
        if (!client().wants_to_send()) return;
        const StreamPacket packet = client().send();
        ASSERT_FALSE(packet.empty()) << "wants to send, but does not";
        check(packet, Place::kHere);
        flight_.push_back(packet);
        continue;
      }
      for (StreamPacket& packet : run.packets) {
        check(packet, Place::kRemote);
        flight_.push_back(std::move(packet));
      }
    }
  }

  void check(const StreamPacket& packet, Place place) {
    for (const SentFrame& frame : packet.frames) {
      if (frame.kind() != SentFrame::Kind::kStream) continue;
      const std::vector<Place>& map = maps_[frame.stream()];
      ASSERT_LE(frame.offset() + frame.length(), map.size());
      ASSERT_TRUE(std::all_of(map.begin() + frame.offset(),
                              map.begin() + frame.offset() + frame.length(),
                              [&](Place one) { return one == place; }));
    }
  }

  // Packets arrive or are lost in any order. Some that were declared lost arrive all the same.
  void settle(bool all) {
    while (!flight_.empty() && (all || random_.below(3) != 0)) {
      const std::size_t index = random_.below(flight_.size());
      const StreamPacket packet = flight_[index];
      flight_.erase(flight_.begin() + index);
      const bool lost = random_.below(4) == 0;
      if (lost) client().lose(packet);
      if (lost && random_.below(3) != 0) continue;
      ASSERT_TRUE(pair_.server.receive(packet));
      client().acknowledge(packet);
    }
    pair_.server.flush_to(client());  // credit
    for (const StreamId id : ids_) read(id);
  }

  void read(StreamId id) {
    StreamReader& reader = pair_.server.streams.reader();
    while (true) {
      const Bytes bytes = reader.peek(id);
      if (bytes.empty()) return;
      ASSERT_TRUE(matches_pattern(id.value, read_[id], bytes));
      read_[id] += bytes.size();
      ASSERT_TRUE(reader.consume(id, bytes.size(), {}));
    }
  }

  void check_end() {
    for (const StreamId id : ids_) ASSERT_EQ(read_[id], maps_[id].size()) << id.value;
    while (client().streams.poll_event()) {
    }
    ASSERT_EQ(client().streams.open_streams(), 0u);
  }

  SeededRandom random_;
  StreamPair pair_;
  std::vector<StreamId> ids_;
  std::map<StreamId, std::vector<Place>> maps_;
  std::map<StreamId, std::uint64_t> read_;
  std::vector<StreamPacket> flight_;
};

// --- senders that decide themselves when to send -------------------------------------------------

TEST_F(RemoteStreamsTest, WhatIsPermittedCountsAsSent) {
  const StreamId id = open_with_head(300);
  remote_.withhold(id, true);
  ASSERT_TRUE(remote_.append(id, 10'000, true));
  EXPECT_EQ(remote_.permit(id, 5'000), 0u) << "the head was not sent";
  deliver(client_.send());
  const std::uint64_t credit = client_.streams.outgoing().connection_credit();
  EXPECT_EQ(remote_.permit(id, 5'000), 5'300u);
  EXPECT_EQ(client_.streams.outgoing().connection_credit(), credit - 5'000);
  EXPECT_EQ(remote_.permit(id, 50'000), 10'300u) << "no more than there is";
  EXPECT_FALSE(client_.streams.outgoing().peek_remote({}));
  EXPECT_FALSE(client_.wants_to_send());
  ASSERT_TRUE(server_.receive(packet_of_run(id, 300, 10'000, true)));
  remote_.acknowledge(id, 0, 4'000);
  EXPECT_EQ(remote_.acknowledged(id), 4'000u);
  remote_.acknowledge(id, 0, 3'000);
  EXPECT_EQ(remote_.acknowledged(id), 4'000u);
  remote_.acknowledge(id, 0, 10'300);
  EXPECT_EQ(client_.event_text(), "closed 2");
  EXPECT_EQ(server_.read(id).bytes, 10'300u);
}

TEST_F(RemoteStreamsTest, ASenderMayBeginBeforeTheEndIsKnown) {
  const StreamId id = pair_.open(Directionality::kUnidirectional);
  const std::uint64_t credit = client_.streams.outgoing().connection_credit();
  EXPECT_EQ(remote_.permit(id, 5'000), 5'000u);
  // The stream is shorter than that.
  ASSERT_EQ(*remote_.assign(id, k_sender), 0u);
  remote_.withhold(id, true);
  ASSERT_TRUE(remote_.append(id, 1'000, true));
  remote_.take_back(id, 1'000);
  EXPECT_EQ(remote_.permit(id, 5'000), 1'000u);
  EXPECT_EQ(client_.streams.outgoing().connection_credit(), credit - 1'000);
  EXPECT_FALSE(client_.wants_to_send()) << "the end comes from the sender";
  remote_.acknowledge(id, 0, 1'000);
  EXPECT_EQ(client_.event_text(), "closed 2");
}

// Each node's part is settled by what is acknowledged of its own packets.
TEST_F(RemoteStreamsTest, WhatASenderDeliversSaysNothingAboutTheHead) {
  const StreamId id = open_with_head(300);
  remote_.withhold(id, true);
  ASSERT_TRUE(remote_.append(id, 2'000, true));
  const StreamPacket head = client_.send();
  EXPECT_EQ(remote_.permit(id, 1'500), 1'800u);
  EXPECT_EQ(remote_.first_remote(id), 300u);
  remote_.acknowledge(id, 300, 1'000);
  EXPECT_EQ(remote_.acknowledged(id), 0u);
  remote_.lose(id, 300);
  EXPECT_FALSE(client_.wants_to_send()) << "the head is on its way";
  client_.acknowledge(head);
  EXPECT_EQ(remote_.acknowledged(id), 1'000u);
  EXPECT_EQ(remote_.first_remote(id), 1'000u);
}

TEST_F(RemoteStreamsTest, WhatASenderDidNotDeliverIsDueHere) {
  const StreamId id = pair_.open(Directionality::kUnidirectional);
  ASSERT_EQ(*remote_.assign(id, k_sender), 0u);
  remote_.withhold(id, true);
  ASSERT_TRUE(remote_.append(id, 2'000, true));
  EXPECT_EQ(remote_.permit(id, 1'500), 1'500u);
  const std::uint64_t credit = client_.streams.outgoing().connection_credit();
  remote_.acknowledge(id, 0, 800);
  remote_.lose(id, 0);
  EXPECT_FALSE(client_.wants_to_send()) << "nobody has the bytes";
  ASSERT_TRUE(client_.streams.writer().replace(
      id, 800, SendChunk::copy_of(pattern(id.value, 800, 1'200)), true));
  std::uint64_t received = 800;
  while (client_.wants_to_send()) {
    const StreamPacket packet = client_.send();
    for (const StreamFrame& frame : packet.all<StreamFrame>()) {
      EXPECT_EQ(frame.offset, received);
      received += frame.data.size();
    }
    client_.acknowledge(packet);
  }
  EXPECT_EQ(received, 2'000u);
  EXPECT_EQ(client_.streams.outgoing().connection_credit(), credit - 500)
      << "what was permitted needs no credit again";
  EXPECT_EQ(client_.event_text(), "closed 2");
}

// The final size covers all that may have been sent (RFC 9000 §4.5).
TEST_F(RemoteStreamsTest, AResetNamesWhatWasPermitted) {
  const StreamId id = pair_.open(Directionality::kUnidirectional);
  EXPECT_EQ(remote_.permit(id, 5'000), 5'000u);
  ASSERT_TRUE(client_.streams.writer().reset(id, 7));
  EXPECT_EQ(client_.send().all<ResetStreamFrame>().at(0).final_size, 5'000u);
  EXPECT_EQ(remote_.permit(id, 5'000), 0u);
  remote_.take_back(id, 0);
  EXPECT_EQ(remote_.numbered(id), 5'000u);
}

TEST_F(RemoteStreamsTest, AnyOrderOfOperationsDeliversTheRightBytes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomRemote(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::quic
