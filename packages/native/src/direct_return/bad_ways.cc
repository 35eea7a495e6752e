#include "direct_return/bad_ways.h"

#include <algorithm>

namespace sheaf::quic {

BadWays::Network BadWays::network_of(const Address& address) {
  Network network{static_cast<std::uint8_t>(address.family)};
  const std::size_t bytes = address.family == Address::Family::kIpv4 ? 3 : network.size() - 1;
  std::copy_n(address.ip.begin(), bytes, network.begin() + 1);
  return network;
}

void BadWays::remember(std::uint32_t backend, const Address& client, Time now) {
  const Network network = network_of(client);
  std::erase_if(ways_, [&](const Way& way) {
    return way.until <= now || (way.backend == backend && way.network == network);
  });
  if (ways_.size() == k_max_ways) ways_.pop_front();
  ways_.push_back({backend, network, now + k_remembered});
}

bool BadWays::is_bad(std::uint32_t backend, const Address& client, Time now) const {
  const Network network = network_of(client);
  return std::ranges::any_of(ways_, [&](const Way& way) {
    return way.backend == backend && way.network == network && now < way.until;
  });
}

}  // namespace sheaf::quic
