#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "util/time.h"

namespace sheaf::quic {

// A fault or a change while backends send responses to a client (docs/internals/direct-return.md)
enum class ReturnFault : std::uint8_t {
  kNone,
  kBackendDeath,
  kBackendRestart,  // its connections are closed at once, and a new process takes over
  kBackendFailure,  // it cannot read the bytes of its responses any more
  kBackendDrain,    // it refuses new grants
  kSourceFiltered,  // the network drops what one backend sends
  kBackboneCut,     // between gateway and one backend, for ever
  kBackboneOutage,  // between gateway and all backends, for one second
  kLostMessages,    // one in twenty, between gateway and backends
  kRebinding,       // the client's NAT forgets its mapping, while messages are lost
  kKeyUpdate,       // by the client, while messages are lost
  kKeyLimit,        // the gateway updates its keys, as it does near their limit
  kSlowClient,      // reads nothing for one second
  kRequestGivenUp,  // STOP_SENDING
  kSecondPath,      // the client opens one
  kGatewayDeath,    // the client dials another one and asks for what it lacks
};
std::optional<ReturnFault> return_fault_named(std::string_view name);

struct ReturnFaultSetting {
  ReturnFault fault = ReturnFault::kNone;
  bool key_update = false;    // by the client, at about the same time
  bool own_recovery = false;  // as ReturnNetwork::Options::own_recovery
  std::uint64_t seed = 1;
};

struct ReturnFaultResult {
  std::size_t requests = 0;
  std::size_t failed = 0;         // did not end, or were reset
  std::uint64_t bytes_wrong = 0;  // missing or wrong in responses that ended
  Duration longest_stall{};       // of any request
  std::size_t lost = 0;           // times that a response lost its backend
  std::size_t proxied = 0;        // responses that the gateway ended itself
  std::uint64_t key_updates = 0;
  std::uint64_t digest = 0;
};

// Simulates a client with four requests at a time and three backends, over links that follow from
// the seed. The fault happens in the middle.
ReturnFaultResult run_return_fault(const ReturnFaultSetting& setting);

// Returns the longest time that a request may be without progress.
Duration return_stall_bound(ReturnFault fault);

}  // namespace sheaf::quic
