#include "util/random.h"

#include <algorithm>
#include <bit>

#include "util/splitmix.h"

namespace sheaf::quic {

SeededRandom::SeededRandom(std::uint64_t seed) {
  // splitmix64 spreads the seed over the state, as the authors of xoshiro recommend: a state of
  // mostly zero bits would give poor numbers at first.
  for (std::uint64_t& word : state_) word = next_splitmix(seed);
}

std::uint64_t SeededRandom::step() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

void SeededRandom::fill(MutableBytes out) {
  while (!out.empty()) {
    const std::uint64_t word = step();
    const std::size_t length = std::min(out.size(), sizeof word);
    std::memcpy(out.data(), &word, length);
    out = out.subspan(length);
  }
}

}  // namespace sheaf::quic
