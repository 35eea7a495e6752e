#include "direct_return/held_payload.h"

#include <gtest/gtest.h>

#include <random>

namespace sheaf::quic {
namespace {

using Vector = std::vector<std::uint8_t>;

TEST(HeldPayload, HoldsBytesUntilTheyAreReleased) {
  HeldPayload payload(100);
  payload.append(Vector{1, 2, 3, 4, 5});
  EXPECT_EQ(payload.available(), 105u);
  Vector out(3);
  EXPECT_EQ(payload.read(102, out), PayloadRead::kDone);
  EXPECT_EQ(out, (Vector{3, 4, 5}));
  EXPECT_EQ(payload.read(103, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(99, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(UINT64_MAX, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(105, {}), PayloadRead::kDone);
  payload.release(101);
  payload.release(101);
  EXPECT_EQ(payload.read(100, out), PayloadRead::kNotThere);
  EXPECT_EQ(payload.read(101, out), PayloadRead::kDone);
  EXPECT_EQ(out, (Vector{2, 3, 4}));
  payload.release(1'000);
  EXPECT_EQ(payload.available(), 105u);
  payload.append(Vector{6});
  EXPECT_EQ(payload.read(105, MutableBytes(out).first(1)), PayloadRead::kDone);
  EXPECT_EQ(out[0], 6);
}

TEST(HeldPayload, SaysHowMuchMoreToAppend) {
  HeldPayload payload(7);
  EXPECT_EQ(payload.room(), HeldPayload::k_max_held);
  payload.append(Vector(HeldPayload::k_max_held - 1));
  EXPECT_EQ(payload.room(), 1u);
  // What comes at once is taken as a whole.
  payload.append(Vector(10));
  EXPECT_EQ(payload.room(), 0u);
  payload.release(7 + 9);
  EXPECT_EQ(payload.room(), 0u);
  payload.release(7 + 10);
  EXPECT_EQ(payload.room(), 1u);
  payload.release(UINT64_MAX);
  EXPECT_EQ(payload.room(), HeldPayload::k_max_held);
}

// A loan counts how often it is given back.
SendChunk lend(const Vector& bytes, int& returned) {
  return SendChunk(
      bytes, [](void* count) { ++*static_cast<int*>(count); }, &returned);
}

TEST(HeldPayload, GivesALoanBackOnceTheClientHasAllOfIt) {
  const Vector bytes{1, 2, 3, 4};
  int returned = 0;
  {
    HeldPayload payload(10);
    payload.append(lend(bytes, returned));
    payload.append(lend(bytes, returned));
    payload.append(lend({}, returned));
    EXPECT_EQ(returned, 1);  // the empty one
    payload.release(13);
    EXPECT_EQ(returned, 1);
    payload.release(14);
    EXPECT_EQ(returned, 2);
    Vector out(4);
    EXPECT_EQ(payload.read(14, out), PayloadRead::kDone);
    EXPECT_EQ(out, bytes);
  }
  EXPECT_EQ(returned, 3);
}

// Compares with a plain copy of all bytes, over pieces of all kinds and sizes.
TEST(HeldPayload, ReadsWhatWasAppendedInAnyPieces) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    constexpr std::uint64_t start = 1'000;
    HeldPayload payload(start);
    Vector all;
    std::deque<Vector> lent;
    int returned = 0;
    std::size_t released = 0;
    for (int step = 0; step < 300; ++step) {
      Vector piece(below(4) == 0 ? below(40'000) : below(50));
      for (std::uint8_t& byte : piece) byte = static_cast<std::uint8_t>(random());
      all.insert(all.end(), piece.begin(), piece.end());
      if (below(2) == 0) {
        payload.append(piece);
      } else {
        payload.append(lend(lent.emplace_back(std::move(piece)), returned));
      }
      ASSERT_EQ(payload.available(), start + all.size());
      const std::size_t from = released + below(all.size() - released + 1);
      Vector out(below(std::min<std::size_t>(all.size() - from, 20'000) + 1));
      ASSERT_EQ(payload.read(start + from, out), PayloadRead::kDone);
      ASSERT_TRUE(std::equal(out.begin(), out.end(), all.begin() + std::ptrdiff_t(from)));
      if (below(3) == 0) {
        released += below(all.size() - released + 1);
        payload.release(start + released);
      }
    }
    payload.release(start + all.size());
    EXPECT_EQ(returned, static_cast<int>(lent.size()));
  }
}

}  // namespace
}  // namespace sheaf::quic
