// Whatever bytes say, a report either is none, or is written again as the same report, and leaves a
// sender with a rate that it can use.
#include <array>
#include <cstdlib>

#include "tunnel/credit.h"
#include "tunnel/tecc.h"

using namespace sheaf::quic;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto report = decode_feedback_report({data, size});
  if (!report) return 0;
  std::array<std::uint8_t, k_longest_feedback_report> buffer;
  Writer writer(buffer);
  encode(writer, *report);
  if (decode_feedback_report(writer.written()) != report) std::abort();
  for (const TeccConfig::Units units : {TeccConfig::Units::kLiteral, TeccConfig::Units::kMended}) {
    Tecc tecc({.units = units});
    tecc.on_report(*report, 100ms, 1400);
    if (tecc.rate().value_or(0) > 1'000'000'000'000) std::abort();
  }
  Credit credit({});
  const Credit::Sender sender{.round_trip = 100ms, .bytes_sent = 1'000'000, .packet_size = 1400};
  credit.on_report(*report, sender, Time(1s));
  FeedbackReport next = *report;
  ++next.sequence;
  credit.on_report(next, sender, Time(1100ms));
  if (credit.rate() > 1'000'000'000'000) std::abort();
  return 0;
}
