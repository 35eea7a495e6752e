// Tests when a connection concludes what acknowledgements settled.
#include "connection/event_log.h"
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

// Counts how often the state of a path was computed anew.
class Conclusions final : public EventLog {
 public:
  void packet_sent(Time, const PacketInfo&, std::span<const SentFrame>) override {}
  void packet_received(Time, const PacketInfo&) override {}
  void frame_received(const Frame&) override {}
  void packet_dropped(Time, DropReason, std::size_t) override {}
  void metrics_updated(Time, const PathStats&) override { ++count; }
  void closed(const ConnectionClosed&) override {}
  int count = 0;
};

class AcknowledgedBatch : public testing::Test {
 protected:
  AcknowledgedBatch() {
    peer_.make_server_talk(8'000);
    packets_ = peer_.collect();
    EXPECT_GE(packets_.size(), 6u);
    peer_.server.set_event_log(&conclusions_);
    peer_.now += 30ms;
  }
  // Acknowledges the packet at this place of those that the server sent.
  void acknowledge(std::size_t place) {
    const PacketNumber number = packets_[place].number;
    peer_.send({AckFrame{.largest = number, .first_range = 0}}, peer_.path);
  }
  std::uint64_t lost() const { return peer_.server.paths().stats()[0].packets_lost; }

  RawPeer peer_;
  std::vector<RawPeer::Packet> packets_;
  Conclusions conclusions_;
};

TEST_F(AcknowledgedBatch, IsConcludedOnce) {
  for (std::size_t place = 2; place < 6; ++place) acknowledge(place);
  EXPECT_EQ(conclusions_.count, 0);
  EXPECT_EQ(lost(), 0u);
  peer_.server.end_batch(peer_.now);
  EXPECT_EQ(conclusions_.count, 1);
  EXPECT_GE(lost(), 2u);
  peer_.server.end_batch(peer_.now);
  EXPECT_EQ(conclusions_.count, 1);
}

TEST_F(AcknowledgedBatch, IsOverBeforeAnythingIsSent) {
  acknowledge(5);
  // The packets that were lost are sent again at once.
  EXPECT_FALSE(peer_.collect().empty());
  EXPECT_GE(lost(), 3u);
  EXPECT_EQ(conclusions_.count, 1);
}

TEST_F(AcknowledgedBatch, ATimerEndsIt) {
  acknowledge(5);
  EXPECT_LT(peer_.server.next_timeout(), peer_.now);
  peer_.server.on_timeout(peer_.now);
  EXPECT_GE(lost(), 3u);
  EXPECT_GT(peer_.server.next_timeout(), peer_.now);
}

}  // namespace
}  // namespace sheaf::quic
