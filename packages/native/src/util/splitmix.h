#pragma once

#include <cstdint>

namespace sheaf::quic {

// One step of splitmix64: well-spread numbers from any state, even from a small one. Predictable.
constexpr std::uint64_t next_splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t mixed = state;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return mixed ^ mixed >> 31;
}

}  // namespace sheaf::quic
