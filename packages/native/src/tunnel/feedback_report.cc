#include "tunnel/feedback_report.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Longer times mean nothing, and would overflow when they are added.
constexpr std::uint64_t k_longest_microseconds = 3'600'000'000;
constexpr std::uint64_t k_latest_microseconds = std::uint64_t{1} << 50;  // in 35 years

constexpr std::uint64_t k_max_value = (std::uint64_t{1} << 62) - 1;

void put(Writer& writer, std::uint64_t value) { writer.write_varint(std::min(value, k_max_value)); }

std::uint64_t to_microseconds(Duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)), 0,
                                   k_longest_microseconds);
}

}  // namespace

void encode(Writer& writer, const FeedbackReport& report) {
  put(writer, report.sequence);
  put(writer, static_cast<std::uint64_t>(report.made / std::chrono::microseconds(1)));
  put(writer, report.rate);
  put(writer, report.least_queue);
  put(writer, to_microseconds(report.oldest_wait));
  put(writer, report.arrived);
  put(writer, report.left);
  put(writer, report.packets_sent);
  put(writer, report.packets_repeated);
  put(writer, to_microseconds(report.tunnel_round_trip));
}

std::optional<FeedbackReport> decode_feedback_report(Bytes bytes) {
  Reader reader(bytes);
  FeedbackReport report;
  report.sequence = reader.read_varint();
  const std::uint64_t made = reader.read_varint();
  report.rate = reader.read_varint();
  report.least_queue = reader.read_varint();
  const std::uint64_t oldest_wait = reader.read_varint();
  report.arrived = reader.read_varint();
  report.left = reader.read_varint();
  report.packets_sent = reader.read_varint();
  report.packets_repeated = reader.read_varint();
  const std::uint64_t round_trip = reader.read_varint();
  const bool plausible = made <= k_latest_microseconds && oldest_wait <= k_longest_microseconds &&
                         round_trip <= k_longest_microseconds && report.left <= report.arrived &&
                         report.packets_repeated <= report.packets_sent;
  if (!reader.ok() || !reader.empty() || !plausible) return std::nullopt;
  report.made = std::chrono::microseconds(made);
  report.oldest_wait = std::chrono::microseconds(oldest_wait);
  report.tunnel_round_trip = std::chrono::microseconds(round_trip);
  return report;
}

}  // namespace sheaf::quic
