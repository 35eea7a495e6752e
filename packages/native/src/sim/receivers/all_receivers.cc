#include "sim/receivers/all_receivers.h"

#include <charconv>

namespace sheaf::quic {

namespace {

constexpr std::string_view k_asked_neqo = "neqo-";

std::unique_ptr<ReceiverModel> asked_neqo(std::string_view packets, Duration rtt) {
  std::uint32_t tolerance = 0;
  const char* end = packets.data() + packets.size();
  const auto [parsed, error] = std::from_chars(packets.data(), end, tolerance);
  if (error != std::errc() || parsed != end || tolerance < 2) return nullptr;
  auto client = std::make_unique<NeqoReceiver>(rtt);
  client->set_ack_frequency(tolerance, 25ms, true);
  return client;
}

}  // namespace

std::vector<std::unique_ptr<ReceiverModel>> all_receivers(Duration rtt) {
  std::vector<std::unique_ptr<ReceiverModel>> all;
  for (const std::string_view name :
       {"chromium", "neqo", "neqo-32", "window128", "ngtcp2", "sheaf"}) {
    all.push_back(receiver_named(name, rtt));
  }
  return all;
}

std::unique_ptr<ReceiverModel> receiver_named(std::string_view name, Duration rtt) {
  if (name == "chromium") return std::make_unique<ChromiumReceiver>(rtt);
  if (name == "neqo") return std::make_unique<NeqoReceiver>(rtt);
  if (name == "window128") return std::make_unique<WindowReceiver>();
  if (name == "ngtcp2") return std::make_unique<Ngtcp2Receiver>();
  if (name == "sheaf") return std::make_unique<OwnReceiver>();
  if (!name.starts_with(k_asked_neqo)) return nullptr;
  return asked_neqo(name.substr(k_asked_neqo.size()), rtt);
}

}  // namespace sheaf::quic
