#include "emulation/capacity_trace.h"

#include <algorithm>
#include <charconv>

namespace sheaf::quic {

namespace {

// Removes the first line of `text`, and returns it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Parses a line. Returns the fault if it is no timestamp that may follow `previous`; empty
// otherwise.
std::string parse_line(std::string_view line, std::uint64_t previous, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), out);
  if (error == std::errc::result_out_of_range) return "the timestamp is later than a week";
  if (error != std::errc{} || end != line.data() + line.size()) {
    return "a whole number of milliseconds is expected";
  }
  if (out > CapacityTrace::k_max_period) return "the timestamp is later than a week";
  if (out < previous) return "the timestamp is earlier than the one before";
  return {};
}

}  // namespace

Result<CapacityTrace, CapacityTraceError> CapacityTrace::parse(std::string_view text) {
  std::vector<std::uint32_t> milliseconds;
  std::uint64_t value = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    if (number > k_max_opportunities) {
      return CapacityTraceError{number, "the trace has too many lines"};
    }
    const std::uint64_t previous = value;
    std::string cause = parse_line(take_line(text), previous, value);
    if (!cause.empty()) return CapacityTraceError{number, std::move(cause)};
    milliseconds.push_back(static_cast<std::uint32_t>(value));
  }
  if (milliseconds.empty()) return CapacityTraceError{1, "the trace is empty"};
  if (value == 0) {
    // The trace would repeat infinitely often in its first instant.
    return CapacityTraceError{milliseconds.size(), "the last timestamp must be above 0"};
  }
  return CapacityTrace(std::move(milliseconds));
}

std::uint64_t CapacityTrace::mean_rate() const {
  return milliseconds_.size() * k_opportunity_bytes * 1000 / milliseconds_.back();
}

Time CapacityCursor::transmit(const CapacityTrace& trace, std::size_t bytes, Time now) {
  if (!valid_ || opportunity(trace) < now) seek(trace, now);
  while (bytes > left_) {
    bytes -= left_;
    advance(trace);
  }
  left_ -= bytes;
  return opportunity(trace);
}

// Moves to the first opportunity that is not over.
void CapacityCursor::seek(const CapacityTrace& trace, Time now) {
  const Duration into_round = now.time_since_epoch() % trace.period();
  round_start_ = now - into_round;
  const auto& all = trace.opportunities();
  // A time less than a millisecond after an opportunity has missed it.
  const auto first = std::lower_bound(
      all.begin(), all.end(), std::chrono::ceil<std::chrono::milliseconds>(into_round).count(),
      [](std::uint32_t one, std::int64_t wanted) {
        return static_cast<std::int64_t>(one) < wanted;
      });
  // The last opportunity is never before `now`, which is within the round.
  index_ = static_cast<std::size_t>(first - all.begin());
  left_ = CapacityTrace::k_opportunity_bytes;
  valid_ = true;
}

void CapacityCursor::advance(const CapacityTrace& trace) {
  left_ = CapacityTrace::k_opportunity_bytes;
  if (++index_ < trace.opportunities().size()) return;
  index_ = 0;
  round_start_ += trace.period();
}

}  // namespace sheaf::quic
