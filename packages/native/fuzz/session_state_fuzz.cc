#include <algorithm>
#include <cstdlib>

#include "crypto/handshake.h"

// Parses a stored session. Checks that a session that parses can be written again without a change,
// and that a client accepts it whatever it contains.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  const auto state = parse_session_state({data, size});
  if (!state) return 0;
  const auto again = parse_session_state(serialize(*state));
  if (!again || again->tls_session != state->tls_session || again->token != state->token ||
      again->alpn != state->alpn || again->peer_parameters != state->peer_parameters ||
      again->version != state->version) {
    std::abort();
  }
  static const auto usable = make_tls_client_context({.alpn = {"h3"}, .insecure = true});
  if (!usable) std::abort();
  SeededRandom random(1);
  ClientHandshakeConfig config;
  config.tls = *usable;
  config.source = ConnectionId(Bytes{data, 1});
  config.session = state;
  config.session->alpn = "h3";
  auto client = Handshake::make_client(config, random, Time(1s));
  std::vector<std::uint8_t> out(1200);
  if (client) (*client)->transmit(out, Time(1s));
  return 0;
}
