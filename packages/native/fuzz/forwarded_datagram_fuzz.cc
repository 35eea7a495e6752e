#include <algorithm>
#include <cstdlib>
#include <variant>

#include "machines/fleet.h"
#include "machines/forwarded_datagram.h"

namespace {

sheaf::quic::ServerSecret fuzzed_secret() {
  sheaf::quic::ServerSecret secret;
  secret.number = 2;
  return secret;
}

}  // namespace

// Opens bytes from the network as a forwarded datagram, a query or a response, and looks for the
// machine of a client's datagram. What is sealed must open again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf;
  const std::vector<std::uint8_t> own = {1, 2};
  const std::vector<std::uint8_t> other = {1, 3};
  constexpr quic::Time k_now{std::chrono::seconds(1)};
  machines::ForwardOpener opener({fuzzed_secret()}, own);
  std::vector<std::uint8_t> bytes(data, data + size);
  if (opener.open(bytes, k_now)) std::abort();  // nobody guesses a tag
  machines::read_answer(bytes);

  machines::Fleet fleet({.id = own}, {fuzzed_secret()}, true);
  fleet.set_machines({{other, {}}});
  const quic::Bytes payload(data, size);
  fleet.owner_of(quic::peek_datagram(payload, 12));

  quic::SeededRandom random(1);
  machines::ForwardSealer sealer(fuzzed_secret(), own, random);
  bytes.assign(data, data + size);
  std::vector<std::uint8_t> sealed(size + machines::k_forward_overhead);
  quic::Datagram datagram;
  datagram.payload = bytes;
  datagram.path.remote.family = quic::Address::Family::kIpv4;
  sealed.resize(sealer.seal(datagram, sealed));
  const auto opened = opener.open(sealed, k_now);
  const auto* client = opened ? std::get_if<quic::Datagram>(&*opened) : nullptr;
  if (!client || !std::ranges::equal(client->payload, payload)) std::abort();
  return 0;
}
