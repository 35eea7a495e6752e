#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/simulation.h"

namespace sheaf::quic {

// --- a network and what happens to it, as plain data --------------------------------------------

struct ScenarioHost {
  std::string name;
  std::vector<Address> addresses;
};

// One of a host's addresses
struct ScenarioEnd {
  std::string host;
  std::size_t address = 0;  // index
};

struct ScenarioLink {
  std::string name;
  ScenarioEnd near;  // may be behind a network address translator
  ScenarioEnd far;
  LinkConfig there{};  // near to far
  LinkConfig back{};
  // Name of an earlier link whose two directions it uses in place of its own: one bottleneck for
  // several pairs of addresses
  std::string shares{};
};

struct LinkDown {};
struct LinkUp {};
struct RateChange {
  std::uint64_t rate = 0;  // bytes per second; 0 = no limit
};
struct DelayChange {
  Duration delay{};
};
struct LossChange {
  double loss = 0;
};
struct BurstLossChange {
  GilbertElliott burst_loss{};
};
// The translator at the near side forgets its mapping, and the far side then sees this address.
struct Rebinding {
  Address translated;
};

struct ScenarioChange {
  enum class Direction : std::uint8_t { kBoth, kThere, kBack };

  Duration at{};  // after the beginning
  std::string link;
  std::variant<LinkDown, LinkUp, RateChange, DelayChange, LossChange, BurstLossChange, Rebinding>
      what;
  Direction direction = Direction::kBoth;  // ignored by a rebinding
};

struct Scenario {
  std::string name;
  std::vector<ScenarioHost> hosts;
  std::vector<ScenarioLink> links;
  std::vector<ScenarioChange> changes{};
};

// Returns the fault of a scenario with its place; nothing when it can run.
std::optional<std::string> find_fault(const Scenario& scenario);

// --- what it becomes ----------------------------------------------------------------------------

// A valid scenario in a simulation. Makes its links and schedules its changes, counted from now.
class ScenarioNetwork {
 public:
  // The simulation outlives it, and has a host of each name by the time it runs.
  ScenarioNetwork(const Scenario& scenario, Simulation& simulation);

  // Returns a path by the name of its link.
  NetworkPath& path(const std::string& link) const { return *paths_.at(link); }
  // Returns the addresses of a link, as its near host names them.
  AddressPair addresses(const std::string& link) const {
    return {path(link).near.address, path(link).far.address};
  }

 private:
  std::map<std::string, NetworkPath*> paths_;
};

}  // namespace sheaf::quic
