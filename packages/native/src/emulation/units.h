#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::quic {

// Converts rates as networks are described to bytes per second as Link expects: 10_mbps.
constexpr std::uint64_t operator""_kbps(unsigned long long kilobits) { return kilobits * 125; }
constexpr std::uint64_t operator""_mbps(unsigned long long megabits) { return megabits * 125'000; }
constexpr std::size_t operator""_kib(unsigned long long kibibytes) { return kibibytes << 10; }

}  // namespace sheaf::quic
