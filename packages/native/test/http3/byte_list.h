#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace sheaf::http3 {

inline std::vector<std::uint8_t> bytes(std::initializer_list<int> values) {
  return {values.begin(), values.end()};
}

}  // namespace sheaf::http3
