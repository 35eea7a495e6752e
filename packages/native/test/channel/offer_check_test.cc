#include "channel/offer_check.h"

#include <gtest/gtest.h>

#include "channel/messages.h"

namespace sheaf::quic {
namespace {

std::optional<LeaveReason> with_addresses(const Address& source, const Address& group) {
  ChannelOffer offer = example_offer();
  offer.source = source;
  offer.group = group;
  return objection(offer, {});
}

Address ipv6_address(std::initializer_list<std::uint8_t> first, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv6};
  std::ranges::copy(first, address.ip.begin());
  address.ip[15] = 1;
  return address;
}

TEST(OfferCheck, TakesGroupsOfOneSource) {
  EXPECT_EQ(objection(example_offer(), {}), std::nullopt);
  EXPECT_EQ(with_addresses(ipv6_address({0x20, 1, 0xd, 0xb8}, 1024),
                           ipv6_address({0xff, 0x3e, 0, 0, 0, 0}, 1024)),
            std::nullopt);
  EXPECT_EQ(with_addresses(example_offer().source, {}), std::nullopt);
}

TEST(OfferCheck, RefusesOtherAddresses) {
  const Address source = example_offer().source;
  const Address group = example_offer().group;
  const std::pair<Address, Address> refused[] = {
      {source, channel_address({224, 0, 0, 1}, 5004)},  // of the link
      {source, channel_address({239, 1, 2, 3}, 5004)},  // of any source
      {source, channel_address({232, 0, 0, 9}, 5004)},  // reserved
      {source, channel_address({10, 0, 0, 9}, 5004)},   // of one host
      {source, channel_address({232, 1, 1, 1}, 1023)},  // of a system service
      {source, ipv6_address({0xff, 0x3e}, 5004)},       // of another family
      {channel_address({10, 1, 2, 3}, 53), group},      // likewise
      {channel_address({232, 1, 2, 3}, 4433), group},   // sent by a group
      {channel_address({0, 0, 0, 0}, 4433), group},     // sent by nobody
      {ipv6_address({0x20, 1}, 4433), ipv6_address({0xff, 0x1e}, 5004)},
      {ipv6_address({0x20, 1}, 4433), ipv6_address({0xff, 0x3e, 1}, 5004)},
  };
  for (const auto& [from, to] : refused) {
    EXPECT_EQ(with_addresses(from, to), LeaveReason::kAddress)
        << to_string(from) << " " << to_string(to);
  }
}

TEST(OfferCheck, RefusesWhatIsAboveItsLimits) {
  const auto reason = [](auto&& change) {
    ChannelOffer offer = example_offer();
    change(offer);
    return objection(offer, {});
  };
  EXPECT_EQ(reason([](auto& offer) { offer.packet_size = 1453; }), LeaveReason::kPacketSize);
  EXPECT_EQ(reason([](auto& offer) { offer.packet_size = 1199; }), LeaveReason::kPacketSize);
  EXPECT_EQ(reason([](auto& offer) { offer.max_rate = 125'000'001; }), LeaveReason::kRate);
  EXPECT_EQ(reason([](auto& offer) { offer.max_rate = 0; }), LeaveReason::kRate);
  EXPECT_EQ(reason([](auto& offer) { offer.reach = 16'385; }), LeaveReason::kReach);
  EXPECT_EQ(reason([](auto& offer) { offer.report_interval = 9ms; }), LeaveReason::kRate);
  EXPECT_EQ(reason([](auto& offer) { offer.report_interval = 10ms; }), std::nullopt);
  EXPECT_EQ(reason([](auto& offer) { offer.authentication.scheme = 0; }), LeaveReason::kScheme);
  EXPECT_EQ(reason([](auto& offer) { offer.source = {}; }), LeaveReason::kWithdrawn);
}

}  // namespace
}  // namespace sheaf::quic
