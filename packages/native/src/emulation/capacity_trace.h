#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"
#include "util/time.h"

namespace sheaf::quic {

struct CapacityTraceError {
  std::size_t line = 0;  // from 1
  std::string cause;
};

// Capacity of a link over time, as recorded from a cellular link. Each line is an opportunity to
// send 1500 bytes, and gives its millisecond. The trace repeats after its last line. The format is
// that of mahimahi (R. Netravali et al., USENIX ATC 2015).
class CapacityTrace {
 public:
  static constexpr std::size_t k_opportunity_bytes = 1500;
  static constexpr std::size_t k_max_opportunities = 10'000'000;
  static constexpr std::uint64_t k_max_period = 7 * 24 * 3600 * std::uint64_t{1000};  // a week

  static Result<CapacityTrace, CapacityTraceError> parse(std::string_view text);

  const std::vector<std::uint32_t>& opportunities() const { return milliseconds_; }
  Duration period() const { return std::chrono::milliseconds(milliseconds_.back()); }
  // Mean rate in bytes per second
  std::uint64_t mean_rate() const;

 private:
  explicit CapacityTrace(std::vector<std::uint32_t> milliseconds)
      : milliseconds_(std::move(milliseconds)) {}

  std::vector<std::uint32_t> milliseconds_;  // ascending, the last above 0
};

// A position in a trace that begins at time 0
class CapacityCursor {
 public:
  // Returns when these bytes, which begin at `now`, have been sent. `now` does not go back. Waiting
  // datagrams share opportunities; when nothing waits any more, the rest of an opportunity is lost.
  Time transmit(const CapacityTrace& trace, std::size_t bytes, Time now);
  // Starts again, since the trace is another one.
  void restart() { valid_ = false; }

 private:
  void seek(const CapacityTrace& trace, Time now);
  void advance(const CapacityTrace& trace);
  Time opportunity(const CapacityTrace& trace) const {
    return round_start_ + std::chrono::milliseconds(trace.opportunities()[index_]);
  }

  bool valid_ = false;
  Time round_start_{};
  std::size_t index_ = 0;
  std::size_t left_ = 0;  // bytes of this opportunity
};

}  // namespace sheaf::quic
