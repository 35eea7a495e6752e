#include <algorithm>
#include <array>
#include <cstdlib>

#include "channel/channel_messages.h"

namespace {

using namespace sheaf::quic;

// What a receiver takes of a scheme is what a source writes.
void check_scheme(const AuthenticationOffer& offer) {
  if (!is_known(offer) || offer.scheme != static_cast<std::uint8_t>(AuthenticationScheme::kTimed)) {
    return;
  }
  const AuthenticationOffer again = offer_of(*timed_parameters_of(offer));
  if (!std::ranges::equal(again.parameters.view(), offer.parameters.view())) std::abort();
}

}  // namespace

// Decodes a datagram of a channel, or the value of a capsule whose type the first byte chooses.
// Checks that what decodes is encoded again without a change of its meaning, and fits the limits of
// senders.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes(data + 1, size - 1);
  if (data[0] < 4) {
    const auto value = decode_channel_capsule(0x5eb0u + data[0], bytes);
    if (!value) return 0;
    const WipedBytes again = encode_channel_capsule(*value);
    if (static_cast<std::uint64_t>(type_of(*value)) != 0x5eb0u + data[0]) std::abort();
    const auto second = decode_channel_capsule(0x5eb0u + data[0], again);
    if (!second || encode_channel_capsule(*second) != again) std::abort();
    if (const auto* offer = std::get_if<ChannelOffer>(&*value)) check_scheme(offer->authentication);
    return 0;
  }
  const auto datagram = decode_channel_datagram(bytes);
  if (!datagram) return 0;
  std::array<std::uint8_t, k_max_channel_report> buffer;
  Writer out(buffer);
  if (const auto* report = std::get_if<ChannelReport>(&*datagram)) {
    write_channel_report(out, *report);
  } else if (const auto* query = std::get_if<ChannelClockQuery>(&*datagram)) {
    write_clock_query(out, *query);
  } else if (const auto* clock = std::get_if<ChannelClock>(&*datagram)) {
    write_clock(out, *clock);
  } else {
    return 0;
  }
  if (out.size() > bytes.size()) std::abort();
  if (!decode_channel_datagram(out.written())) std::abort();
  return 0;
}
