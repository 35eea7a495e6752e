#include <cstdlib>

#include "wire/transport_parameters.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  const auto parameters = decode_transport_parameters({data, size});
  if (!parameters) {
    if (parameters.error().code != TransportErrorCode::kTransportParameterError) std::abort();
    return 0;
  }
  if (parameters->ack_delay_exponent > 20 || parameters->active_connection_id_limit < 2 ||
      parameters->max_udp_payload_size < 1200 || parameters->max_idle_timeout < Duration::zero()) {
    std::abort();
  }
  // Checks that the parameters appended here are read back.
  std::vector<std::uint8_t> appended;
  append_extension_parameters(appended, *parameters);
  const auto again = decode_transport_parameters(appended);
  if (!again || again->initial_max_path_id != parameters->initial_max_path_id ||
      again->reset_stream_at != parameters->reset_stream_at) {
    std::abort();
  }
  return 0;
}
