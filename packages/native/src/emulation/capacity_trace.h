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

// When a link can carry how much, as recorded of a cellular link: one line per opportunity to send
// 1500 bytes, which names its millisecond. The trace repeats after its last line. The format is
// that of mahimahi (R. Netravali et al., USENIX ATC 2015).
class CapacityTrace {
 public:
  static constexpr std::size_t k_opportunity_bytes = 1500;
  static constexpr std::size_t k_max_opportunities = 10'000'000;
  static constexpr std::uint64_t k_max_period = 7 * 24 * 3600 * std::uint64_t{1000};  // a week

  static Result<CapacityTrace, CapacityTraceError> parse(std::string_view text);

  const std::vector<std::uint32_t>& opportunities() const { return milliseconds_; }
  Duration period() const { return std::chrono::milliseconds(milliseconds_.back()); }
  // Mean, in bytes per second.
  std::uint64_t mean_rate() const;

 private:
  explicit CapacityTrace(std::vector<std::uint32_t> milliseconds)
      : milliseconds_(std::move(milliseconds)) {}

  std::vector<std::uint32_t> milliseconds_;  // ascending, the last above 0
};

// A place in a trace that begins at time 0.
class CapacityCursor {
 public:
  // When so many bytes that begin at `now`, which does not go back, are through. Datagrams that
  // wait share opportunities; what is left of one when nothing waits any more is lost.
  Time transmit(const CapacityTrace& trace, std::size_t bytes, Time now);
  // The trace is another one.
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
