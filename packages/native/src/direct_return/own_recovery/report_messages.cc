#include "direct_return/own_recovery/report_messages.h"

#include <algorithm>

#include "wire/fixed_fields.h"

namespace sheaf::quic::report_messages {

namespace {

// Flags of an AckReport
constexpr std::uint8_t k_slow_start = 0x01;
constexpr std::uint8_t k_may_mark = 0x02;
constexpr std::uint8_t k_has_counts = 0x04;
// Flags of a SenderState
constexpr std::uint8_t k_by_mark = 0x01;
constexpr std::uint8_t k_persistent = 0x02;
constexpr std::uint8_t k_wants = 0x04;
constexpr std::uint8_t k_limited = 0x08;
constexpr std::uint8_t k_contradicted = 0x10;

constexpr std::uint16_t k_least_datagram = 1200;  // RFC 9000 §14.1

std::uint8_t flag(bool set, std::uint8_t bit) { return set ? bit : std::uint8_t{0}; }

void write_duration(Writer& out, Duration duration) {
  const Duration bounded = std::clamp(duration, Duration{}, AckReport::k_max_duration);
  out.write_u32(static_cast<std::uint32_t>(bounded / AckReport::k_unit));
}

Duration read_duration(Reader& in) { return AckReport::k_unit * in.read_u32(); }

// Reads intervals that fall, do not touch, and are not empty.
bool read_ranges(Reader& in, AckReport& report) {
  const std::size_t count = in.read_u8();
  if (count > AckReport::k_max_ranges) return false;
  std::uint64_t below = fixed::k_end_of_48_bits;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t start = fixed::read_u48(in);
    const std::uint64_t end = fixed::read_u48(in);
    if (start >= end || end >= below) return false;
    report.acknowledged.push_back({start, end});
    below = start;
  }
  return true;
}

}  // namespace

void write(Writer& out, const AckReport& report) {
  out.write_u32(report.path);
  out.write_u32(report.number);
  out.write_u32(report.window);
  out.write_u32(report.epoch);
  out.write_u8(static_cast<std::uint8_t>(flag(report.slow_start, k_slow_start) |
                                         flag(report.ecn, k_may_mark) |
                                         flag(report.counts.has_value(), k_has_counts)));
  out.write_u16(report.datagram);
  write_duration(out, report.max_ack_delay);
  write_duration(out, report.ack_delay);
  write_duration(out, report.hold);
  const EcnCounts counts = report.counts.value_or(EcnCounts{});
  fixed::write_u48(out, counts.ect0);
  fixed::write_u48(out, counts.ce);
  out.write_u8(static_cast<std::uint8_t>(report.acknowledged.size()));
  for (const Interval& range : report.acknowledged.view()) {
    fixed::write_u48(out, range.start);
    fixed::write_u48(out, range.end);
  }
}

bool read(Reader& in, AckReport& report) {
  report.path = in.read_u32();
  report.number = in.read_u32();
  report.window = in.read_u32();
  report.epoch = in.read_u32();
  const std::uint8_t flags = in.read_u8();
  report.slow_start = (flags & k_slow_start) != 0;
  report.ecn = (flags & k_may_mark) != 0;
  report.datagram = in.read_u16();
  report.max_ack_delay = read_duration(in);
  report.ack_delay = read_duration(in);
  report.hold = read_duration(in);
  EcnCounts counts;
  counts.ect0 = fixed::read_u48(in);
  counts.ce = fixed::read_u48(in);
  if ((flags & k_has_counts) != 0) report.counts = counts;
  const bool counts_fit = report.counts.has_value() || counts == EcnCounts{};
  const bool ranges_fit = read_ranges(in, report);
  return counts_fit && ranges_fit && flags <= (k_slow_start | k_may_mark | k_has_counts) &&
         report.number > 0 && report.epoch > 0 && report.datagram >= k_least_datagram;
}

void write(Writer& out, const SenderState& state) {
  out.write_u32(state.path);
  out.write_u32(state.report);
  out.write_u32(state.address);
  out.write_u32(state.generation);
  fixed::write_u48(out, state.generation_begin);
  fixed::write_u48(out, state.next);
  fixed::write_u48(out, state.settled);
  fixed::write_u48(out, state.acknowledged_end);
  fixed::write_u48(out, state.delivered);
  out.write_u32(state.in_flight);
  write_duration(out, state.latest_rtt);
  write_duration(out, state.minimum_rtt);
  write_duration(out, state.smoothed_rtt);
  out.write_u32(state.acknowledged_epoch);
  out.write_u32(state.congested_epoch);
  out.write_u8(static_cast<std::uint8_t>(
      flag(state.congested_by_mark, k_by_mark) | flag(state.persistent, k_persistent) |
      flag(state.wants, k_wants) | flag(state.limited, k_limited) |
      flag(state.contradicted, k_contradicted)));
}

bool read(Reader& in, SenderState& state) {
  state.path = in.read_u32();
  state.report = in.read_u32();
  state.address = in.read_u32();
  state.generation = in.read_u32();
  state.generation_begin = fixed::read_u48(in);
  state.next = fixed::read_u48(in);
  state.settled = fixed::read_u48(in);
  state.acknowledged_end = fixed::read_u48(in);
  state.delivered = fixed::read_u48(in);
  state.in_flight = in.read_u32();
  state.latest_rtt = read_duration(in);
  state.minimum_rtt = read_duration(in);
  state.smoothed_rtt = read_duration(in);
  state.acknowledged_epoch = in.read_u32();
  state.congested_epoch = in.read_u32();
  const std::uint8_t flags = in.read_u8();
  state.congested_by_mark = (flags & k_by_mark) != 0;
  state.persistent = (flags & k_persistent) != 0;
  state.wants = (flags & k_wants) != 0;
  state.limited = (flags & k_limited) != 0;
  state.contradicted = (flags & k_contradicted) != 0;
  return flags <= 0x1f && state.settled <= state.next && state.acknowledged_end <= state.next &&
         state.generation_begin <= state.next;
}

void write(Writer& out, const Delivered& delivered) {
  out.write_u32(delivered.grant);
  fixed::write_u48(out, delivered.offset);
}

bool read(Reader& in, Delivered& delivered) {
  delivered.grant = in.read_u32();
  delivered.offset = fixed::read_u48(in);
  return true;
}

}  // namespace sheaf::quic::report_messages
