#include "recovery/sent_packets.h"

#include <gtest/gtest.h>

#include <deque>

#include "recovery/times.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

using State = SentPacket::State;

PacketNumber send(SentPackets& sent, std::uint64_t first_offset, int frames, Time now) {
  for (int i = 0; i < frames; ++i)
    sent.add_frame(SentFrame::for_data({}, first_offset + i, 0, false));
  return sent.commit({.time_sent = now, .bytes = 1200, .ack_eliciting = true, .in_flight = true});
}

std::vector<std::uint64_t> offsets(const SentPackets& sent, const SentPacket& packet) {
  std::vector<std::uint64_t> found;
  sent.for_each_frame(packet, [&](const SentFrame& frame) { found.push_back(frame.offset()); });
  return found;
}

TEST(SentPackets, NumbersPacketsAndKeepsTheirFrames) {
  SentPackets sent;
  EXPECT_EQ(sent.next_number(), 0u);
  EXPECT_EQ(send(sent, 10, 2, at_ms(1)), 0u);
  EXPECT_EQ(send(sent, 20, 0, at_ms(2)), 1u);
  EXPECT_EQ(send(sent, 30, 3, at_ms(3)), 2u);
  EXPECT_EQ(offsets(sent, *sent.find(0)), (std::vector<std::uint64_t>{10, 11}));
  EXPECT_TRUE(offsets(sent, *sent.find(1)).empty());
  EXPECT_EQ(offsets(sent, *sent.find(2)), (std::vector<std::uint64_t>{30, 31, 32}));
  EXPECT_EQ(sent.find(3), nullptr);
}

TEST(SentPackets, DiscardedFramesLeaveNoTrace) {
  SentPackets sent;
  sent.add_frame(SentFrame::for_data({}, 1, 0, false));
  ASSERT_EQ(sent.pending_frames().size(), 1u);
  sent.discard_pending();
  EXPECT_TRUE(sent.pending_frames().empty());
  send(sent, 2, 1, at_ms(0));
  EXPECT_EQ(offsets(sent, *sent.find(0)), (std::vector<std::uint64_t>{2}));
}

TEST(SentPackets, SkippedNumbersAreRememberedBeyondPruning) {
  SentPackets sent;
  send(sent, 0, 1, at_ms(0));
  sent.skip_number();
  EXPECT_EQ(send(sent, 1, 1, at_ms(0)), 2u);
  EXPECT_EQ(sent.find(1)->state, State::kSkipped);
  sent.find(0)->state = State::kAcknowledged;
  sent.prune(at_ms(0));
  EXPECT_EQ(sent.oldest(), 2u);
  EXPECT_EQ(sent.find(1), nullptr);
  EXPECT_TRUE(sent.skipped_in(0, 5));
  EXPECT_TRUE(sent.skipped_in(1, 1));
  EXPECT_FALSE(sent.skipped_in(2, 5));
  EXPECT_FALSE(sent.skipped_in(0, 0));
}

TEST(SentPackets, PruneStopsAtOutstandingAndAtYoungLosses) {
  SentPackets sent;
  for (int i = 0; i < 5; ++i) send(sent, i, 1, at_ms(i));
  sent.find(0)->state = State::kAcknowledged;
  sent.find(1)->state = State::kLost;
  sent.find(2)->state = State::kAcknowledged;
  sent.prune(at_ms(1));
  EXPECT_EQ(sent.oldest(), 1u);
  sent.prune(at_ms(2));
  EXPECT_EQ(sent.oldest(), 3u);
  for (PacketNumber number : {3, 4}) sent.find(number)->state = State::kAcknowledged;
  sent.prune(at_ms(2));
  EXPECT_EQ(sent.oldest(), sent.next_number());
}

TEST(SentPackets, AcknowledgementsNobodyConfirmsAreForgotten) {
  SentPackets sent;
  for (int i = 0; i < 100'000; ++i) {
    sent.add_frame(SentFrame::for_acknowledgement(SentFrame::Kind::kAck, {}, 0));
    sent.commit({.time_sent = at_ms(i), .bytes = 40});
    sent.prune(at_ms(0));
    ASSERT_LE(sent.next_number() - sent.oldest(), SentPackets::k_max_kept_unacknowledged);
  }
  EXPECT_LT(sent.memory_bytes(), 256u * 1024);
}

TEST(SentPackets, MemoryStopsGrowingAtTheWorkingSet) {
  SentPackets sent;
  std::size_t settled = 0, after_first_round = 0;
  for (int round = 0; round < 50; ++round) {
    while (sent.next_number() - sent.oldest() < 200) send(sent, 0, 3, at_ms(0));
    while (sent.next_number() - settled > 10) sent.find(settled++)->state = State::kAcknowledged;
    sent.prune(at_ms(1));
    if (round == 0) after_first_round = sent.memory_bytes();
  }
  EXPECT_EQ(sent.memory_bytes(), after_first_round);
}

// docs/decisions/0022: one record and one STREAM frame for each number of a run.
TEST(SentPackets, ARunIsNumberedLikeItsPackets) {
  SentPackets sent;
  send(sent, 7, 2, at_ms(0));
  const SentPacket packet{
      .time_sent = at_ms(5), .bytes = 1200, .ack_eliciting = true, .in_flight = true, .sender = 3};
  const RunData data{.stream = {4}, .offset = 1000, .bytes_per_packet = 100, .fin = true};
  EXPECT_EQ(sent.commit_run(packet, 20, data), 1u);
  EXPECT_EQ(sent.next_number(), 21u);
  for (PacketNumber number = 1; number <= 20; ++number) {
    const SentPacket* kept = sent.find(number);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->sender, 3);
    EXPECT_EQ(kept->time_sent, at_ms(5));
    EXPECT_EQ(kept->state, State::kOutstanding);
    int frames = 0;
    sent.for_each_frame(*kept, [&](const SentFrame& frame) {
      ++frames;
      EXPECT_EQ(frame.stream(), StreamId{4});
      EXPECT_EQ(frame.offset(), 1000 + 100 * (number - 1));
      EXPECT_EQ(frame.length(), 100u);
      EXPECT_EQ(frame.fin(), number == 20);
    });
    EXPECT_EQ(frames, 1);
  }
  EXPECT_EQ(send(sent, 9, 1, at_ms(6)), 21u);
  EXPECT_EQ(offsets(sent, *sent.find(21)), (std::vector<std::uint64_t>{9}));
  EXPECT_EQ(offsets(sent, *sent.find(0)), (std::vector<std::uint64_t>{7, 8}));
}

TEST(SentPackets, RefusedNumbersAreRememberedBeyondPruning) {
  SentPackets sent;
  send(sent, 0, 1, at_ms(0));
  for (PacketNumber first : {20, 10}) {
    while (sent.next_number() < 40) send(sent, 0, 1, at_ms(0));
    for (PacketNumber number = first; number < first + 5; ++number) sent.refuse(number);
  }
  EXPECT_EQ(sent.find(12)->state, State::kRefused);
  for (PacketNumber number = 0; number < sent.next_number(); ++number) {
    if (sent.at(number).state == State::kOutstanding) sent.at(number).state = State::kAcknowledged;
  }
  sent.prune(at_ms(0));
  EXPECT_EQ(sent.oldest(), sent.next_number());
  EXPECT_TRUE(sent.refused_in(0, 39));
  EXPECT_TRUE(sent.refused_in(14, 14));
  EXPECT_TRUE(sent.refused_in(15, 20));
  EXPECT_FALSE(sent.refused_in(15, 19));
  EXPECT_FALSE(sent.refused_in(0, 9));
  EXPECT_FALSE(sent.refused_in(25, 39));
  EXPECT_FALSE(sent.skipped_in(0, 39));
}

TEST(SentPackets, TheOldestRefusalsAreForgotten) {
  SentPackets sent;
  for (PacketNumber run = 0; run < 1000; ++run) {
    send(sent, 0, 1, at_ms(0));
    send(sent, 0, 1, at_ms(0));
    sent.refuse(2 * run);
    sent.at(2 * run + 1).state = State::kAcknowledged;
    sent.prune(at_ms(0));
  }
  EXPECT_FALSE(sent.refused_in(0, 2 * 935));
  for (PacketNumber run = 936; run < 1000; ++run) {
    EXPECT_TRUE(sent.refused_in(2 * run, 2 * run)) << run;
  }
}

// Compares with a plain deque, with random operations.
TEST(SentPackets, BehavesLikeADeque) {
  constexpr std::uint64_t k_seed = 0x5e17;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  SeededRandom random(k_seed);
  SentPackets sent;
  struct Expected {
    std::vector<std::uint64_t> offsets;
    State state;
  };
  std::deque<Expected> model;
  PacketNumber oldest = 0;
  std::uint64_t offset = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t choice = random.below(10);
    if (choice < 4) {
      const auto frames = static_cast<int>(random.below(5));
      ASSERT_EQ(send(sent, offset, frames, at_ms(0)), oldest + model.size());
      model.push_back({{}, State::kOutstanding});
      for (int i = 0; i < frames; ++i) model.back().offsets.push_back(offset++);
    } else if (choice == 4 && random.below(2) == 0) {
      const std::uint64_t count = 1 + random.below(32);
      ASSERT_EQ(sent.commit_run({.in_flight = true}, count,
                                {.stream = {}, .offset = offset, .bytes_per_packet = 1}),
                oldest + model.size());
      for (std::uint64_t i = 0; i < count; ++i) model.push_back({{offset++}, State::kOutstanding});
    } else if (choice == 4) {
      sent.skip_number();
      model.push_back({{}, State::kSkipped});
    } else if (choice == 5 && !model.empty()) {
      const std::uint64_t index = random.below(model.size());
      model[index].state = State::kRefused;
      sent.refuse(oldest + index);
    } else if (choice < 9 && !model.empty()) {
      const std::uint64_t index = random.below(model.size());
      model[index].state = State::kAcknowledged;
      sent.find(oldest + index)->state = State::kAcknowledged;
    } else {
      sent.prune(at_ms(0));
      while (!model.empty() && model.front().state != State::kOutstanding) {
        model.pop_front();
        ++oldest;
      }
    }
    ASSERT_EQ(sent.oldest() + (sent.next_number() - sent.oldest()), oldest + model.size());
    for (std::size_t i = 0; i < model.size(); i += 1 + model.size() / 8) {
      const SentPacket* packet = sent.find(oldest + i);
      ASSERT_NE(packet, nullptr);
      ASSERT_EQ(packet->state, model[i].state);
      ASSERT_EQ(offsets(sent, *packet), model[i].offsets);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
