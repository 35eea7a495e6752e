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

TEST_F(SendBufferTest, RemoteBytesTakeNoMemory) {
  buffer_.append(lender_.lend(100));
  buffer_.append_remote(1000);
  buffer_.append_remote(500);
  buffer_.append(lender_.lend(50));
  EXPECT_EQ(buffer_.end(), 1650u);
  EXPECT_EQ(buffer_.held_bytes(), 150u);
  EXPECT_FALSE(buffer_.part_at(99).remote);
  EXPECT_EQ(buffer_.part_at(0).end, 100u);
  EXPECT_TRUE(buffer_.part_at(100).remote);
  EXPECT_EQ(buffer_.part_at(1599).end, 1600u) << "two pieces of remote bytes are one part";
  EXPECT_FALSE(buffer_.part_at(1600).remote);
  buffer_.acknowledge(0, 1600);
  EXPECT_EQ(lender_.returned, 1);
  EXPECT_EQ(buffer_.held_bytes(), 50u);
  buffer_.acknowledge(1600, 50);
  EXPECT_EQ(buffer_.acknowledged(), 1650u);
  EXPECT_EQ(buffer_.held_bytes(), 0u);
}

TEST_F(SendBufferTest, PutsBytesAtThePlaceOfRemoteOnes) {
  buffer_.append_remote(1000);
  buffer_.acknowledge(0, 200);
  buffer_.acknowledge(300, 100);
  buffer_.replace(150, SendChunk::copy_of(pattern(0, 150, 350)));
  EXPECT_EQ(buffer_.end(), 1000u);
  EXPECT_EQ(buffer_.part_at(200).end, 500u);
  EXPECT_FALSE(buffer_.part_at(200).remote);
  EXPECT_TRUE(buffer_.part_at(500).remote);
  EXPECT_EQ(copy(200, 100), pattern(0, 200, 100));
  EXPECT_EQ(copy(400, 100), pattern(0, 400, 100));
  // Beyond the end.
  buffer_.replace(900, SendChunk::copy_of(pattern(0, 900, 300)));
  EXPECT_EQ(buffer_.end(), 1200u);
  EXPECT_EQ(copy(1000, 200), pattern(0, 1000, 200));
  EXPECT_EQ(buffer_.held_bytes(), 650u);
  buffer_.acknowledge(0, 1200);
  EXPECT_EQ(buffer_.held_bytes(), 0u);
  EXPECT_EQ(buffer_.acknowledged(), 1200u);
}

TEST_F(SendBufferTest, KeepsWhatIsHereWhenBytesAreReplacedTwice) {
  buffer_.append_remote(1000);
  buffer_.replace(200, lender_.lend(100));
  buffer_.replace(100, SendChunk::copy_of(pattern(0, 100, 500)));
  EXPECT_EQ(buffer_.held_bytes(), 500u);
  EXPECT_EQ(lender_.returned, 0);
  EXPECT_TRUE(buffer_.part_at(0).remote);
  EXPECT_EQ(buffer_.part_at(0).end, 100u);
  EXPECT_FALSE(buffer_.part_at(100).remote);
  EXPECT_EQ(buffer_.part_at(100).end, 600u);
  EXPECT_EQ(copy(100, 100), pattern(0, 100, 100));
  EXPECT_EQ(copy(300, 300), pattern(0, 300, 300));
  EXPECT_TRUE(buffer_.part_at(600).remote);
  buffer_.acknowledge(0, 1000);
  EXPECT_EQ(lender_.returned, 1);
  EXPECT_EQ(buffer_.held_bytes(), 0u);
}

TEST_F(SendBufferTest, DoesNotKeepBytesThatArrivedBeforeTheirReplacement) {
  buffer_.append_remote(1000);
  buffer_.acknowledge(500, 100);
  buffer_.replace(500, lender_.lend(100));
  EXPECT_EQ(lender_.returned, 1) << "behind a gap";
  buffer_.acknowledge(0, 500);
  lender_.lent_bytes = 400;
  buffer_.replace(400, lender_.lend(200));
  EXPECT_EQ(lender_.returned, 2) << "below everything that is missing";
  EXPECT_EQ(buffer_.held_bytes(), 0u);
  EXPECT_EQ(buffer_.acknowledged(), 600u);
}

// Random operations beside a map that says of each byte where it is and whether it arrived.
TEST_F(SendBufferTest, AgreesWithAMapOfBytes) {
  struct Byte {
    bool remote = false;
    bool acknowledged = false;
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    SendBuffer buffer;
    std::vector<Byte> map;
    const auto append = [&](std::size_t length, bool remote) {
      if (remote) {
        buffer.append_remote(length);
      } else {
        buffer.append(SendChunk::copy_of(pattern(0, map.size(), length)));
      }
      map.resize(map.size() + length, {.remote = remote});
    };
    const auto replace = [&](std::uint64_t offset, std::size_t length) {
      buffer.replace(offset, SendChunk::copy_of(pattern(0, offset, length)));
      if (map.size() < offset + length) map.resize(offset + length);
      for (std::uint64_t i = offset; i < offset + length; ++i) map[i].remote = false;
    };
    for (int step = 0; step < 150; ++step) {
      const std::uint64_t offset = random.below(map.size() + 1);
      const std::size_t length = random.below(200);
      switch (random.below(5)) {
        case 0:
        case 1:
          append(length, random.below(2) == 0);
          break;
        case 2:
          replace(offset, length);
          break;
        default: {
          const std::uint64_t end = std::min<std::uint64_t>(offset + length, map.size());
          buffer.acknowledge(offset, end - offset);
          for (std::uint64_t i = offset; i < end; ++i) map[i].acknowledged = true;
        }
      }
      ASSERT_EQ(buffer.end(), map.size());
      std::uint64_t missing = 0;
      buffer.for_each_unacknowledged(0, buffer.end(), [&](std::uint64_t from, std::uint64_t to) {
        missing += to - from;
        while (from < to) {
          const SendBuffer::Part part = buffer.part_at(from);
          const std::uint64_t end = std::min(part.end, to);
          ASSERT_GT(end, from);
          for (std::uint64_t i = from; i < end; ++i) {
            ASSERT_FALSE(map[i].acknowledged) << i;
            ASSERT_EQ(map[i].remote, part.remote) << i;
          }
          if (!part.remote) {
            std::vector<std::uint8_t> bytes(end - from);
            Writer writer(bytes);
            buffer.copy(from, end - from, writer);
            ASSERT_TRUE(matches_pattern(0, from, bytes));
          }
          from = end;
        }
      });
      ASSERT_EQ(missing, static_cast<std::uint64_t>(std::ranges::count(
                             map, false, [](const Byte& byte) { return byte.acknowledged; })));
    }
    buffer.acknowledge(0, buffer.end());
    ASSERT_EQ(buffer.held_bytes(), 0u);
  }
}

}  // namespace
}  // namespace sheaf::quic
