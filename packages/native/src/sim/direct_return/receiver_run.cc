#include "sim/direct_return/receiver_run.h"

#include "sim/direct_return/receiving_client.h"

namespace sheaf::quic {

namespace {

constexpr std::uint64_t k_first_response = 20'000;  // bytes
constexpr std::uint64_t k_endless_window = 1 << 30;

ReturnNetwork::Options with_client(ReturnNetwork::Options options, Host& client,
                                   const ReceiverModel& model) {
  options.client_host = &client;
  options.client.take_ack_frequency = model.takes_ack_frequency();
  options.client.streams.initial_connection_window = k_endless_window;
  options.client.streams.max_connection_window = k_endless_window;
  options.client.streams.initial_stream_window = k_endless_window;
  options.client.streams.max_stream_window = k_endless_window;
  return options;
}

}  // namespace

ReceiverRunResult run_receiver(const ReceiverRunSetting& setting, ReceiverModel& model) {
  ReceivingClient client(model, ReturnNetwork::client_path());
  ReturnNetwork network(setting.seed, with_client(setting.network, client, model));
  Simulation& simulation = network.simulation;
  const auto download = [&](std::uint64_t from_each) {
    for (std::size_t i = 0; i < network.backends.size(); ++i) {
      client.request({.length = from_each, .backend = i});
    }
    simulation.after(Duration::zero(), [] {});  // lets the client send
    return simulation.run_until([&] { return client.finished(); }, setting.limit);
  };
  download(k_first_response);
  const Time asked = simulation.now();
  const auto outcome = download(setting.bytes / network.backends.size());
  return {.finished = outcome == Simulation::Outcome::kReached,
          .intact = client.intact(),
          .packets = client.packets(),
          .refused = client.refused(),
          .repeated = client.repeated(),
          .acknowledgements = client.acknowledgements(),
          .most_ranges = client.most_ranges(),
          .time = simulation.now() - asked,
          .digest = simulation.digest()};
}

}  // namespace sheaf::quic
