#include "connection/address_change.h"

#include <algorithm>
#include <utility>

#include "util/one_host.h"

namespace sheaf::quic {

namespace {

// Returns the address that the path's socket can reach, among those that the server prefers.
std::optional<Address> reachable(const PreferredAddress& preferred, Address::Family family) {
  Address address;
  address.family = family;
  if (family == Address::Family::kIpv4) {
    std::ranges::copy(preferred.ipv4, address.ip.begin());
    address.port = preferred.ipv4_port;
  } else {
    address.ip = preferred.ipv6;
    address.port = preferred.ipv6_port;
  }
  // RFC 9000 §21.5.3: a server may name addresses that are not its own.
  if (address.port == 0 || !leads_to_one_host(address)) return std::nullopt;
  return address;
}

}  // namespace

bool AddressChange::move(PathEntry& entry, const Address& local) {
  const Time until = until_settled();
  std::unique_ptr<OtherAddresses> former = leave(entry, until);
  // An id that was not seen elsewhere (RFC 9000 §9.5).
  if (!entry.remote_ids.rotate(until)) return false;
  entry.former = std::move(former);
  Path& path = *entry.path;
  path.migrate({local, path.addresses.remote}, false, now_, parts_.probe_timeout());
  // The server's address is known to be its own; the limit protects strangers (RFC 9000 §9.3).
  path.amplification.validate();
  path.ping_due = true;
  parts_.events.push_back(PathChangedEvent{entry.id});
  return true;
}

void AddressChange::try_preferred(PathEntry& entry) {
  const auto& offered = parts_.peer_parameters.preferred_address;
  if (parts_.role != Role::kClient || !offered) return;
  const AddressPair& present = entry.path->addresses;
  const auto remote = reachable(*offered, present.remote.family);
  if (!remote || *remote == present.remote || !entry.remote_ids.reserve()) return;
  entry.probed = std::make_unique<OtherAddresses>(OtherAddresses{
      .addresses = {present.local, *remote}, .destination = *entry.remote_ids.reserved()});
  // Sends at most three datagrams when nobody answers there.
  entry.probed->amplification.validate();
  const Duration unknown_path = RttEstimator{}.probe_timeout(Duration::zero());
  entry.probed->validation.start(now_, std::max(parts_.probe_timeout(), unknown_path));
}

void AddressChange::adopt_preferred(PathEntry& entry) {
  const Time until = until_settled();
  const std::unique_ptr<OtherAddresses> preferred = std::exchange(entry.probed, nullptr);
  entry.former = leave(entry, until);
  entry.remote_ids.use_reserved(until);
  Path& path = *entry.path;
  path.migrate(preferred->addresses, true, now_, parts_.probe_timeout());
  path.responses = preferred->responses;
  path.ping_due = true;  // RFC 9000 §9.2: the server follows only packets that are not probes
  parts_.events.push_back(PathChangedEvent{entry.id});
}

bool AddressChange::expects(const PathEntry& entry, const Address& remote) {
  const auto leads_there = [&](const std::unique_ptr<OtherAddresses>& other) {
    return other && other->addresses.remote == remote;
  };
  return entry.path->addresses.remote == remote || leads_there(entry.probed) ||
         leads_there(entry.former);
}

void AddressChange::follow(PathEntry& entry, const AddressPair& to, std::size_t bytes,
                           Bytes used_id) {
  Path& path = *entry.path;
  const Time until = until_settled();
  const std::unique_ptr<OtherAddresses> known = take_known(entry, to);
  std::unique_ptr<OtherAddresses> former = leave(entry, until);
  // RFC 9000 §9.3.3: somebody else may have forwarded the packet. A client that is still at the old
  // address answers there, and the path goes back.
  if (!former->validation.pending()) former->validation.start(now_, parts_.probe_timeout());
  entry.former = std::move(former);
  const bool works = known && known->validation.state() == PathValidation::State::kValidated;
  path.migrate(to, works, now_, parts_.probe_timeout());
  if (!known) {
    path.amplification.on_received(bytes);
  } else {
    if (!path.amplification.validated()) path.amplification = known->amplification;
    path.responses = known->responses;
  }
  // RFC 9000 §9.5: a client that moves uses another id of ours, and we use another one of its ids,
  // so that nobody can link the addresses. A client that kept our id does not know that a NAT gave
  // it another port, and may object to a change.
  if (std::ranges::equal(entry.used_id.view(), used_id)) {
    if (!entry.probed) entry.remote_ids.release_reserved();
  } else if (entry.probed || !entry.remote_ids.use_reserved(until)) {
    entry.remote_ids.rotate(until);
  }
  parts_.events.push_back(PathChangedEvent{path.id});
}

std::unique_ptr<OtherAddresses> AddressChange::leave(PathEntry& entry, Time until) const {
  const Path& path = *entry.path;
  return std::make_unique<OtherAddresses>(OtherAddresses{.addresses = path.addresses,
                                                         .amplification = path.amplification,
                                                         .validation = path.validation,
                                                         .destination = entry.remote_ids.current(),
                                                         .until = until});
}

std::unique_ptr<OtherAddresses> AddressChange::take_known(PathEntry& entry,
                                                          const AddressPair& addresses) {
  for (auto* other : {&entry.probed, &entry.former}) {
    if (*other && (*other)->addresses == addresses) return std::exchange(*other, nullptr);
  }
  return nullptr;
}

void AddressChange::on_challenge(PathEntry& entry, const PathData& data, const AddressPair& from,
                                 std::size_t bytes) {
  if (from == entry.path->addresses) return entry.path->responses.add(data);
  if (entry.former && entry.former->addresses == from) return entry.former->responses.add(data);
  if (!entry.probed || entry.probed->addresses != from) {
    entry.probed = begin_probe(entry, from, bytes);
  } else if (!entry.probed->destination) {
    entry.probed->destination = id_for_probe(entry);
  }
  entry.probed->responses.add(data);
}

std::unique_ptr<OtherAddresses> AddressChange::begin_probe(PathEntry& entry,
                                                           const AddressPair& from,
                                                           std::size_t bytes) const {
  auto probed = std::make_unique<OtherAddresses>(
      OtherAddresses{.addresses = from, .destination = id_for_probe(entry)});
  probed->amplification.on_received(bytes);
  return probed;
}

std::optional<ConnectionId> AddressChange::id_for_probe(PathEntry& entry) {
  // A peer with ids of length zero cannot give others, and has no such protection.
  if (entry.remote_ids.current().length == 0) return entry.remote_ids.current();
  if (!entry.remote_ids.reserve()) return std::nullopt;
  return *entry.remote_ids.reserved();
}

void AddressChange::on_response(PathEntry& entry, const PathResponseFrame& response) {
  using Shown = PathValidation::Shown;
  if (entry.probed && entry.probed->validation.on_response(response, now_) == Shown::kPath) {
    return adopt_preferred(entry);
  }
  if (entry.former && entry.former->validation.on_response(response, now_) != Shown::kNothing) {
    entry.former->amplification.validate();
  }
}

void AddressChange::count_received(PathEntry& entry, const AddressPair& from, std::size_t bytes) {
  for (auto* other : {&entry.probed, &entry.former}) {
    if (*other && (*other)->addresses == from) return (*other)->amplification.on_received(bytes);
  }
}

Time AddressChange::next_timeout(const PathEntry& entry) {
  Time next = std::min(entry.remote_ids.next_retirement_at(), entry.local_ids.next_forgetting_at());
  if (entry.probed) next = std::min(next, entry.probed->validation.next_timeout());
  if (!entry.former) return next;
  return std::min({next, entry.former->until, entry.former->validation.next_timeout()});
}

void AddressChange::on_timeout(PathEntry& entry) {
  entry.remote_ids.retire_left(now_);
  entry.local_ids.forget_retired(now_);
  if (entry.probed) {
    entry.probed->validation.on_timeout(now_);
    if (entry.probed->validation.state() == PathValidation::State::kFailed) {
      // Nobody answers at the preferred address: the path stays as it is (RFC 9000 §9.6.1).
      entry.probed.reset();
      entry.remote_ids.retire_reserved();
    }
  }
  if (!entry.former) return;
  entry.former->validation.on_timeout(now_);
  const bool usable = entry.remote_ids.in_use(*entry.former->destination);
  if (now_ >= entry.former->until || !usable) entry.former.reset();
}

}  // namespace sheaf::quic
