#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "sim/receivers/chromium_receiver.h"
#include "sim/receivers/neqo_receiver.h"
#include "sim/receivers/ngtcp2_receiver.h"
#include "sim/receivers/own_receiver.h"
#include "sim/receivers/window_receiver.h"

namespace sheaf::quic {

// Returns one client of each kind, all new. `rtt` is the connection's without queues.
std::vector<std::unique_ptr<ReceiverModel>> all_receivers(Duration rtt);

// Returns a new client of the kind with this name, or null if there is none: chromium, neqo,
// window128, ngtcp2, sheaf, and neqo-N for one that was asked to acknowledge N packets at a time
// and to ignore their order.
std::unique_ptr<ReceiverModel> receiver_named(std::string_view name, Duration rtt);

}  // namespace sheaf::quic
