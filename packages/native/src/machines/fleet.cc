#include "machines/fleet.h"

#include <algorithm>

#include "util/splitmix.h"

namespace sheaf::machines {

using quic::Bytes;

namespace {

// Weighs a machine for an id (rendezvous hashing): when one comes or goes, only the ids for which
// it weighs most move.
std::uint64_t weight(Bytes server_id, Bytes id) {
  std::uint64_t state = 0;
  for (const Bytes part : {server_id, id}) {
    for (const std::uint8_t byte : part) {
      state ^= byte;
      state = quic::next_splitmix(state);
    }
  }
  return state;
}

}  // namespace

Fleet::Fleet(const quic::RoutableIds::Server& own, const quic::ServerSecrets& secrets,
             bool shares_first)
    : own_(own.id), shares_first_(shares_first) {
  for (const quic::ServerSecret& secret : secrets)
    ids_.emplace_back(own, secret, secret.number, nullptr);
}

std::optional<std::vector<std::uint8_t>> Fleet::server_of(Bytes id) {
  if (id.size() > quic::ConnectionId::k_max_length) return std::nullopt;
  const quic::ConnectionId copy(id);
  for (quic::RoutableIds& ids : ids_) {
    if (auto server = ids.server_of(copy)) return server;
  }
  return std::nullopt;
}

std::optional<std::size_t> Fleet::opener_of(const quic::DatagramHeader& header) const {
  if (!header.may_open() || !shares_first_) return std::nullopt;
  const Bytes id = header.destination;
  std::uint64_t heaviest = weight(own_, id);
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const std::uint64_t weighs = weight(machines_[i].server_id, id);
    if (weighs > heaviest && machines_[i].opens) {
      heaviest = weighs;
      chosen = i;
    }
  }
  return chosen;
}

std::optional<std::size_t> Fleet::owner_of(const quic::DatagramHeader& header) {
  if (const auto server = server_of(header.destination)) {
    if (*server == own_) return std::nullopt;
    const auto found = std::ranges::find(machines_, *server, &Machine::server_id);
    if (found != machines_.end()) return static_cast<std::size_t>(found - machines_.begin());
  }
  return opener_of(header);
}

}  // namespace sheaf::machines
