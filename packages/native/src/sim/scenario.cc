#include "sim/scenario.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace sheaf::quic {

namespace {

const ScenarioHost* find_host(const Scenario& scenario, const std::string& name) {
  const auto found = std::ranges::find(scenario.hosts, name, &ScenarioHost::name);
  return found == scenario.hosts.end() ? nullptr : &*found;
}

NetworkNode node_of(const Scenario& scenario, const ScenarioEnd& end) {
  return {end.host, find_host(scenario, end.host)->addresses[end.address]};
}

// --- faults -------------------------------------------------------------------------------------

std::optional<std::string> find_fault(const Scenario& scenario, const ScenarioEnd& end) {
  const ScenarioHost* host = find_host(scenario, end.host);
  if (host == nullptr) return "there is no host " + end.host;
  if (end.address >= host->addresses.size()) {
    return "host " + end.host + " has no address " + std::to_string(end.address);
  }
  return std::nullopt;
}

std::optional<std::string> find_fault_of_hosts(const Scenario& scenario) {
  std::set<std::string> names;
  std::set<Address> addresses;
  for (const ScenarioHost& host : scenario.hosts) {
    if (!names.insert(host.name).second) return "there are two hosts " + host.name;
    for (const Address& address : host.addresses) {
      if (!addresses.insert(address).second) return to_string(address) + " occurs twice";
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_fault_of_links(const Scenario& scenario,
                                               std::set<std::string>& names) {
  std::set<AddressPair> pairs;
  for (const ScenarioLink& link : scenario.links) {
    const std::string place = "link " + link.name + ": ";
    for (const ScenarioEnd& end : {link.near, link.far}) {
      if (const auto fault = find_fault(scenario, end)) return place + *fault;
    }
    const Address near = node_of(scenario, link.near).address;
    const Address far = node_of(scenario, link.far).address;
    if (!pairs.insert({near, far}).second || !pairs.insert({far, near}).second) {
      return place + "its addresses are joined already";
    }
    if (!link.shares.empty() && !names.contains(link.shares)) {
      return place + "there is no earlier link " + link.shares;
    }
    if (!names.insert(link.name).second) return "there are two links " + link.name;
  }
  return std::nullopt;
}

std::optional<std::string> find_fault_of_changes(const Scenario& scenario,
                                                 const std::set<std::string>& links) {
  for (const ScenarioChange& change : scenario.changes) {
    if (!links.contains(change.link)) return "a change names no link: " + change.link;
    if (change.at < Duration::zero()) return "a change of link " + change.link + " is in the past";
  }
  return std::nullopt;
}

// --- changes ------------------------------------------------------------------------------------

struct Applier {
  LinkConfig& config;

  void operator()(const LinkDown&) { config.down = true; }
  void operator()(const LinkUp&) { config.down = false; }
  void operator()(const RateChange& change) {
    config.rate = change.rate;
    config.trace = nullptr;
  }
  void operator()(const DelayChange& change) { config.delay = change.delay; }
  void operator()(const LossChange& change) { config.loss = change.loss; }
  void operator()(const BurstLossChange& change) { config.burst_loss = change.burst_loss; }
  void operator()(const Rebinding&) {}
};

void apply(const ScenarioChange& change, NetworkPath& path, Simulation& simulation) {
  if (const auto* rebinding = std::get_if<Rebinding>(&change.what)) {
    simulation.rebind(path, rebinding->translated);
    return;
  }
  using Direction = ScenarioChange::Direction;
  for (Link* link : {&path.there, &path.back}) {
    const Direction direction = link == &path.there ? Direction::kThere : Direction::kBack;
    if (change.direction != Direction::kBoth && change.direction != direction) continue;
    LinkConfig config = link->config();
    std::visit(Applier{config}, change.what);
    link->change(config, simulation.now());
  }
}

}  // namespace

std::optional<std::string> find_fault(const Scenario& scenario) {
  std::set<std::string> links;
  if (auto fault = find_fault_of_hosts(scenario)) return fault;
  if (auto fault = find_fault_of_links(scenario, links)) return fault;
  return find_fault_of_changes(scenario, links);
}

ScenarioNetwork::ScenarioNetwork(const Scenario& scenario, Simulation& simulation) {
  assert(!find_fault(scenario));
  for (const ScenarioLink& link : scenario.links) {
    const NetworkNode near = node_of(scenario, link.near);
    const NetworkNode far = node_of(scenario, link.far);
    paths_[link.name] = link.shares.empty() ? &simulation.connect(near, far, link.there, link.back)
                                            : &simulation.share(path(link.shares), near, far);
  }
  for (const ScenarioChange& change : scenario.changes) {
    NetworkPath* path = paths_.at(change.link);
    if (change.at == Duration::zero()) {  // before anybody sends
      apply(change, *path, simulation);
      continue;
    }
    simulation.after(change.at, [change, path, &simulation] { apply(change, *path, simulation); });
  }
}

}  // namespace sheaf::quic
