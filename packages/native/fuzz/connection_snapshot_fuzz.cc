#include <cstdlib>

#include "connection/connection.h"
#include "multi_end/backends.h"
#include "multi_end/connection_snapshot.h"

// Decodes a hand-over from another node. Checks that a hand-over that decodes can be encoded again
// without a change, and makes a connection or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  const auto seed = decode_snapshot({data, size});
  if (!seed) return 0;
  const std::vector<std::uint8_t> bytes = encode_snapshot(*seed);
  const auto again = decode_snapshot(bytes);
  if (!again || encode_snapshot(*again) != bytes) std::abort();
  SeededRandom random(1);
  Connection backend(Role::kServer, seed->adapt({}), random, Time(1s));
  if (!establish_backend(backend, *seed, Time(1s))) return 0;
  std::vector<std::uint8_t> packet(64, 0x40);
  const auto& id = seed->local_ids.front().id;
  std::copy_n(id.bytes.begin(), id.length, packet.begin() + 1);
  backend.receive({packet, {}}, Time(1s));
  std::vector<std::uint8_t> buffer(65536);
  TransmitBatch batch;
  batch.buffer = buffer;
  backend.poll_transmit(batch, Time(1s));
  backend.on_timeout(Time(2s));
  return 0;
}
