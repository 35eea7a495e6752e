// Parses any text as a trace. Checks that the result is an error that names its line, or a trace
// that always reaches its next opportunity.
#include <cstdint>
#include <cstdlib>

#include "emulation/capacity_trace.h"

using namespace sheaf::quic;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = CapacityTrace::parse({reinterpret_cast<const char*>(data), size});
  if (!trace) {
    if (trace.error().line == 0 || trace.error().cause.empty()) std::abort();
    return 0;
  }
  CapacityCursor cursor;
  Time now{};
  for (std::size_t i = 0; i < 64; ++i) {
    const Time end = cursor.transmit(*trace, 700 * i % 4000, now);
    if (end < now) std::abort();
    now = end + Duration(static_cast<std::int64_t>(i * 1'234'567));
  }
  return 0;
}
