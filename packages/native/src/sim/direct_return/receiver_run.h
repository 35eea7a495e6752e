#pragma once

#include <cstdint>

#include "sim/direct_return/return_network.h"
#include "sim/receivers/receiver_model.h"

namespace sheaf::quic {

// A download from all backends at a time, by a client that treats packet numbers as a model says.
struct ReceiverRunSetting {
  ReturnNetwork::Options network;
  std::uint64_t bytes = 4'000'000;  // of all responses together
  Duration limit = std::chrono::seconds(60);
  std::uint64_t seed = 1;
};

// What the client saw
struct ReceiverRunResult {
  bool finished = false;  // within the limit
  bool intact = false;
  std::uint64_t packets = 0;   // with data, that arrived
  std::uint64_t refused = 0;   // of these, by the model
  std::uint64_t repeated = 0;  // bytes that had arrived before
  std::uint64_t acknowledgements = 0;
  std::size_t most_ranges = 0;
  Duration time{};  // from the requests to the end
  std::uint64_t digest = 0;
};

// Before the download, the client requests a little from each backend, by which the ways become
// known.
ReceiverRunResult run_receiver(const ReceiverRunSetting& setting, ReceiverModel& model);

}  // namespace sheaf::quic
