#pragma once

#include <memory>
#include <vector>

#include "support/receivers/chromium_receiver.h"
#include "support/receivers/neqo_receiver.h"
#include "support/receivers/ngtcp2_receiver.h"
#include "support/receivers/own_receiver.h"
#include "support/receivers/window_receiver.h"

namespace sheaf::quic {

// Returns one client of each kind, all new. `rtt` is the connection's without queues.
inline std::vector<std::unique_ptr<ReceiverModel>> all_receivers(Duration rtt) {
  std::vector<std::unique_ptr<ReceiverModel>> all;
  all.push_back(std::make_unique<ChromiumReceiver>(rtt));
  all.push_back(std::make_unique<NeqoReceiver>(rtt));
  auto quiet = std::make_unique<NeqoReceiver>(rtt);
  quiet->set_ack_frequency(32, 25ms, true);
  all.push_back(std::move(quiet));
  all.push_back(std::make_unique<WindowReceiver>());
  all.push_back(std::make_unique<Ngtcp2Receiver>());
  all.push_back(std::make_unique<OwnReceiver>());
  return all;
}

}  // namespace sheaf::quic
