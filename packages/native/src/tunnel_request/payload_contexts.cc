#include "tunnel_request/payload_contexts.h"

#include <algorithm>
#include <array>

namespace sheaf::tunnel_request {

namespace {

constexpr std::size_t k_marks = 4;
using OwnIds = std::array<std::uint8_t, k_marks>;

// In the order of `Ecn`. One byte each. Clients register even ids, proxies odd ones (RFC 9298 §4),
// and context 1 is that of reports.
constexpr OwnIds k_without_marks{0, 0, 0, 0};
constexpr OwnIds k_of_client{0, 2, 4, 6};
constexpr OwnIds k_of_proxy{0, 3, 5, 7};

const OwnIds& own_ids(PayloadContexts::Side side) {
  if (side == PayloadContexts::Side::kClient) return k_of_client;
  return side == PayloadContexts::Side::kProxy ? k_of_proxy : k_without_marks;
}

// `found` is a position in sets of ids, or their end.
template <typename Ids>
std::optional<Ecn> ecn_at(const Ids& ids, typename Ids::const_iterator found) {
  if (found == ids.end()) return std::nullopt;
  return static_cast<Ecn>(static_cast<std::size_t>(found - ids.begin()) % k_marks);
}

}  // namespace

Bytes PayloadContexts::id_for(Ecn ecn) const {
  return Bytes(own_ids(own_)).subspan(static_cast<std::size_t>(ecn), 1);
}

std::optional<Ecn> PayloadContexts::ecn_of(std::uint64_t context) const {
  if (const auto ecn = ecn_at(of_peer_, std::ranges::find(of_peer_, context))) return ecn;
  const OwnIds& own = own_ids(own_);
  return ecn_at(own, std::ranges::find(own, context));
}

}  // namespace sheaf::tunnel_request
