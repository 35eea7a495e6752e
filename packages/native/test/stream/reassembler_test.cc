#include "stream/reassembler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stream/pattern.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

class ReassemblerTest : public testing::Test {
 protected:
  ReassemblerTest() { reassembler_.open(pool_); }

  void write(std::uint64_t offset, std::size_t length) {
    reassembler_.write(offset, pattern(0, offset, length));
  }
  // Reads and checks everything readable, and returns the number of bytes.
  std::uint64_t read_all() {
    const std::uint64_t before = reassembler_.read_offset();
    while (true) {
      const Bytes bytes = reassembler_.peek();
      if (bytes.empty()) break;
      EXPECT_TRUE(matches_pattern(0, reassembler_.read_offset(), bytes));
      reassembler_.consume(bytes.size());
    }
    return reassembler_.read_offset() - before;
  }

  BlockPool pool_;
  Reassembler reassembler_;
};

TEST_F(ReassemblerTest, GivesBytesInOrder) {
  write(0, 100);
  EXPECT_EQ(read_all(), 100u);
  write(100, 10'000);
  EXPECT_EQ(read_all(), 10'000u);
  EXPECT_EQ(read_all(), 0u);
}

TEST_F(ReassemblerTest, WaitsForAGap) {
  write(100, 100);
  EXPECT_EQ(read_all(), 0u);
  write(0, 99);
  EXPECT_EQ(read_all(), 99u);
  write(99, 1);
  EXPECT_EQ(read_all(), 101u);
}

TEST_F(ReassemblerTest, JoinsAcrossBlocks) {
  for (std::uint64_t offset = 1000; offset < 50'000; offset += 1000) write(offset, 1000);
  EXPECT_EQ(read_all(), 0u);
  write(0, 1000);
  EXPECT_EQ(read_all(), 50'000u);
}

TEST_F(ReassemblerTest, CopiesAcrossBlocks) {
  write(0, 50'000);
  write(60'000, 1000);
  std::uint64_t offset = 0;
  for (const std::size_t size : {1u, 4095u, 4097u, 30'000u, 20'000u, 1u}) {
    std::vector<std::uint8_t> out(size);
    const std::size_t copied = reassembler_.copy_to(out);
    EXPECT_EQ(copied, std::min<std::uint64_t>(size, 50'000 - offset));
    EXPECT_TRUE(matches_pattern(0, offset, Bytes(out).first(copied)));
    reassembler_.consume(copied);
    offset += copied;
  }
  EXPECT_EQ(offset, 50'000u);
}

TEST_F(ReassemblerTest, JoinsAtBlockBoundaries) {
  for (const std::size_t size : {Block::k_small, Block::k_large}) {
    write(size, size);
    write(3 * size, 1);
    write(0, size);
    EXPECT_EQ(reassembler_.contiguous_end(), 2 * size);
    write(2 * size, size);
    EXPECT_EQ(read_all(), 3 * size + 1);
    reassembler_.clear();
    reassembler_.open(pool_);
  }
}

TEST_F(ReassemblerTest, JoinsWhereLargeBlocksBegin) {
  constexpr std::uint64_t k_large_from = Block::k_small_until;
  write(k_large_from + Block::k_large, 1);
  write(k_large_from, Block::k_large);
  write(0, k_large_from - 1);
  EXPECT_EQ(reassembler_.contiguous_end(), k_large_from - 1);
  write(k_large_from - 1, 1);
  EXPECT_EQ(read_all(), k_large_from + Block::k_large + 1);
}

TEST_F(ReassemblerTest, HoldsSmallBlocksAtTheBeginningAndLargeOnesBehind) {
  write(1, 1);
  EXPECT_EQ(pool_.memory_bytes(), Block::footprint(Block::k_small));
  write(Block::k_small_until - 1, 1);
  EXPECT_EQ(pool_.memory_bytes(), 2 * Block::footprint(Block::k_small));
  write(Block::k_small_until, 1);
  EXPECT_EQ(pool_.memory_bytes(),
            2 * Block::footprint(Block::k_small) + Block::footprint(Block::k_large));
}

TEST_F(ReassemblerTest, IgnoresWhatItHas) {
  write(0, 100);
  write(0, 100);
  write(50, 50);
  EXPECT_EQ(read_all(), 100u);
  write(0, 100);
  write(20, 100);
  EXPECT_EQ(read_all(), 20u);
}

TEST_F(ReassemblerTest, DoesNotChangeBytesThatMayHaveBeenRead) {
  write(0, 100);
  reassembler_.write(0, std::vector<std::uint8_t>(100, 0xff));
  EXPECT_EQ(read_all(), 100u);
}

TEST_F(ReassemblerTest, TakesEmptyFragments) {
  write(0, 0);
  write(500, 0);
  EXPECT_EQ(pool_.memory_bytes(), 0u);
  EXPECT_TRUE(reassembler_.peek().empty());
}

TEST_F(ReassemblerTest, HasNothingAfterClear) {
  write(0, 100);
  write(5000, 100);
  reassembler_.clear();
  EXPECT_TRUE(reassembler_.peek().empty());
  reassembler_.open(pool_);
  write(0, 10);
  EXPECT_EQ(read_all(), 10u);
}

TEST_F(ReassemblerTest, HoldsNoBlockWhileNothingWaits) {
  for (std::uint64_t offset = 0; offset < 160'000; offset += 1000) {
    write(offset, 1000);
    ASSERT_EQ(read_all(), 1000u);
    ASSERT_LE(pool_.memory_bytes(),
              3 * Block::footprint(Block::k_small) + 2 * Block::footprint(Block::k_large));
  }
}

TEST_F(ReassemblerTest, CountsWhatWaitsBehindGaps) {
  write(0, 100);
  EXPECT_EQ(reassembler_.waiting_bytes(), 0u);
  write(200, 5000);
  write(9000, 10);
  EXPECT_EQ(reassembler_.waiting_bytes(), 5010u);
  write(100, 50);
  EXPECT_EQ(reassembler_.waiting_bytes(), 5010u);
  write(150, 50);
  EXPECT_EQ(reassembler_.waiting_bytes(), 10u);
  write(5200, 3800);
  EXPECT_EQ(reassembler_.waiting_bytes(), 0u);
  write(9100, 100);
  reassembler_.clear();
  EXPECT_EQ(reassembler_.waiting_bytes(), 0u);
}

TEST_F(ReassemblerTest, MemoryIsBoundedForSingleBytes) {
  constexpr std::uint64_t k_window = 256 << 10;
  for (std::uint64_t offset = 1; offset < k_window; offset += 2) write(offset, 1);
  EXPECT_LE(pool_.memory_bytes(), k_window * 5 / 4);
  for (std::uint64_t offset = 0; offset < k_window; offset += 2) write(offset, 1);
  EXPECT_EQ(read_all(), k_window);
}

TEST_F(ReassemblerTest, PutsRandomFragmentsTogether) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SeededRandom random(seed);
    reassembler_.open(pool_);
    const std::uint64_t size = 1 + random.below(60'000);
    std::vector<bool> have(size);
    std::uint64_t expected = 0;
    while (expected < size) {
      const std::uint64_t longest = random.below(4) == 0 ? 9000 : 1400;
      const std::uint64_t offset =
          random.below(3) == 0 ? expected - random.below(std::min<std::uint64_t>(expected, 50) + 1)
                               : random.below(size);
      const std::uint64_t length = std::min(random.below(longest), size - offset);
      write(offset, length);
      std::fill_n(have.begin() + static_cast<std::ptrdiff_t>(offset), length, true);
      while (expected < size && have[expected]) ++expected;
      ASSERT_EQ(reassembler_.contiguous_end(), expected) << "seed " << seed;
      if (random.below(2) == 0) continue;
      const Bytes readable = reassembler_.peek();
      ASSERT_TRUE(matches_pattern(0, reassembler_.read_offset(), readable)) << "seed " << seed;
      reassembler_.consume(random.below(readable.size() + 1));
    }
    read_all();
    ASSERT_EQ(reassembler_.read_offset(), size) << "seed " << seed;
  }
}

TEST(BlockPool, KeepsAsManyFreeBlocksAsAreInUse) {
  for (const std::size_t size : {Block::k_small, Block::k_large}) {
    BlockPool pool;
    std::vector<Block*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(pool.take(size));
    EXPECT_EQ(pool.memory_bytes(), 1000 * Block::footprint(size));
    for (Block* block : blocks) pool.give_back(block);
    EXPECT_LE(pool.memory_bytes(), 16 * Block::footprint(size));
    pool.trim();
    EXPECT_EQ(pool.memory_bytes(), 0u);
  }
}

}  // namespace
}  // namespace sheaf::quic
