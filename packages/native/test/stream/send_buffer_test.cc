#include "stream/send_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stream/pattern.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

// Lends pieces of one stream's pattern, and counts those that came back.
class Lender {
 public:
  SendChunk lend(std::size_t length) {
    auto* loan = new Loan{this, pattern(0, lent_bytes, length)};
    lent_bytes += length;
    return SendChunk(loan->bytes, &Lender::give_back, loan);
  }
  std::uint64_t lent_bytes = 0;
  std::uint64_t returned_bytes = 0;
  int returned = 0;

 private:
  struct Loan {
    Lender* lender;
    std::vector<std::uint8_t> bytes;
  };
  static void give_back(void* owner) {
    auto* loan = static_cast<Loan*>(owner);
    loan->lender->returned_bytes += loan->bytes.size();
    ++loan->lender->returned;
    delete loan;
  }
};

class SendBufferTest : public testing::Test {
 protected:
  std::vector<std::uint8_t> copy(std::uint64_t offset, std::size_t length) {
    std::vector<std::uint8_t> bytes(length);
    Writer writer(bytes);
    buffer_.copy(offset, length, writer);
    EXPECT_EQ(writer.size(), length);
    return bytes;
  }
  Lender lender_;
  SendBuffer buffer_;
};

TEST_F(SendBufferTest, CopiesAcrossChunks) {
  for (std::size_t length : {10, 1, 500, 3}) buffer_.append(lender_.lend(length));
  EXPECT_EQ(buffer_.end(), 514u);
  EXPECT_EQ(copy(0, 514), pattern(0, 0, 514));
  EXPECT_EQ(copy(9, 3), pattern(0, 9, 3));
  EXPECT_EQ(copy(513, 1), pattern(0, 513, 1));
  EXPECT_EQ(copy(0, 1), pattern(0, 0, 1));
}

TEST_F(SendBufferTest, ReleasesAChunkWhenAllOfItIsAcknowledged) {
  buffer_.append(lender_.lend(100));
  buffer_.append(lender_.lend(100));
  buffer_.acknowledge(0, 99);
  EXPECT_EQ(lender_.returned, 0);
  buffer_.acknowledge(99, 1);
  EXPECT_EQ(lender_.returned, 1);
  EXPECT_EQ(buffer_.held_bytes(), 100u);
  EXPECT_EQ(buffer_.acknowledged(), 100u);
}

TEST_F(SendBufferTest, ReleasesAChunkBehindAGap) {
  for (int i = 0; i < 3; ++i) buffer_.append(lender_.lend(100));
  buffer_.acknowledge(100, 150);
  EXPECT_EQ(lender_.returned, 1);
  EXPECT_EQ(buffer_.acknowledged(), 0u);
  EXPECT_EQ(copy(0, 100), pattern(0, 0, 100));
  EXPECT_EQ(copy(250, 50), pattern(0, 250, 50));
  buffer_.acknowledge(0, 100);
  EXPECT_EQ(buffer_.acknowledged(), 250u);
  EXPECT_EQ(lender_.returned, 2);
}

TEST_F(SendBufferTest, CountsBytesThatAreAcknowledgedTwiceOnce) {
  buffer_.append(lender_.lend(100));
  buffer_.acknowledge(50, 20);
  buffer_.acknowledge(40, 40);
  buffer_.acknowledge(50, 20);
  EXPECT_EQ(lender_.returned, 0);
  buffer_.acknowledge(0, 100);
  EXPECT_EQ(lender_.returned, 1);
}

TEST_F(SendBufferTest, ReleasesEverythingWhenCleared) {
  for (int i = 0; i < 3; ++i) buffer_.append(lender_.lend(100));
  buffer_.clear();
  EXPECT_EQ(lender_.returned, 3);
  EXPECT_EQ(buffer_.held_bytes(), 0u);
}

TEST_F(SendBufferTest, ReleasesEmptyChunksAtOnce) {
  buffer_.append(lender_.lend(0));
  EXPECT_EQ(lender_.returned, 1);
  EXPECT_EQ(buffer_.end(), 0u);
}

TEST_F(SendBufferTest, ReleasesExactlyWhatRandomAcknowledgementsComplete) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SeededRandom random(seed);
    Lender lender;
    SendBuffer buffer;
    std::vector<Interval> chunks;
    std::vector<bool> acknowledged;
    while (true) {
      if (chunks.size() < 40) {
        const std::size_t length = random.below(200);
        chunks.push_back({lender.lent_bytes, lender.lent_bytes + length});
        buffer.append(lender.lend(length));
        acknowledged.resize(lender.lent_bytes);
      }
      const std::uint64_t offset = random.below(lender.lent_bytes + 1);
      const std::uint64_t length = random.below(lender.lent_bytes - offset + 1) % 120;
      buffer.acknowledge(offset, length);
      for (std::uint64_t i = offset; i < offset + length; ++i) acknowledged[i] = true;
      if (random.below(4) != 0) continue;
      std::uint64_t complete = 0;
      for (const Interval& chunk : chunks) {
        bool all = true;
        for (std::uint64_t i = chunk.start; i < chunk.end; ++i) all = all && acknowledged[i];
        if (all) complete += chunk.size();
      }
      ASSERT_EQ(lender.returned_bytes, complete) << "seed " << seed;
      std::vector<bool> missing = acknowledged;
      buffer.for_each_unacknowledged(0, buffer.end(), [&](std::uint64_t from, std::uint64_t to) {
        std::vector<std::uint8_t> bytes(to - from);
        Writer writer(bytes);
        buffer.copy(from, to - from, writer);
        EXPECT_TRUE(matches_pattern(0, from, bytes)) << "seed " << seed;
        for (std::uint64_t i = from; i < to; ++i) missing[i] = !missing[i];
      });
      ASSERT_EQ(std::count(missing.begin(), missing.end(), false), 0) << "seed " << seed;
      if (chunks.size() == 40 && random.below(50) == 0) break;
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
