#pragma once

#include <memory>
#include <string_view>

#include "sim/multi_end/multi_end_client.h"

namespace sheaf::quic {

// A fault or a change while a client has requests in flight (docs/internals/multi-end.md)
enum class BackendFault : std::uint8_t {
  kNone,
  kBackendCrash,
  kBackendDrain,
  kBackendJoin,
  kPrimaryCrash,
  kBackboneCut,
  kPathCut,    // between client and backend
  kRebinding,  // the client's NAT forgot its mapping
  kMigration,  // the client moves to another address
};
std::optional<BackendFault> backend_fault_named(std::string_view name);

struct FaultSetting {
  BackendFault fault = BackendFault::kNone;
  KeyMode keys = KeyMode::kPerPath;
  bool key_update = false;  // at about the same time
  std::uint64_t seed = 1;
};

struct FaultResult {
  std::size_t requests = 0;
  std::size_t failed = 0;        // after all attempts
  std::uint64_t bytes_lost = 0;  // missing or wrong in responses that ended
  Duration longest_stall{};      // of any request
  unsigned repeated = 0;         // attempts after the first
  unsigned resumed = 0;          // of those by a range of bytes
  std::uint64_t key_updates = 0;
  std::uint64_t handshake_datagrams = 0;  // that reached backends
  std::uint64_t digest = 0;
  bool finished = false;
};

// Simulates a client with four requests at a time, downloads and uploads, and three backends on
// links that follow from the seed. The fault happens in the middle.
FaultResult run_fault(const FaultSetting& setting);

// Returns the longest time that a request may be without progress (docs/internals/multi-end.md
// explains its parts).
Duration stall_bound(BackendFault fault);

}  // namespace sheaf::quic
