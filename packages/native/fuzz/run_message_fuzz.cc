#include <algorithm>
#include <cstdlib>

#include "direct_return/run_messages.h"

// Decodes a datagram of run messages, of either direction. Checks that one that decodes is encoded
// again without a change, and does not hold more than a sender may put into it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  const Bytes bytes(data, size);
  const auto datagram = decode_run_datagram(bytes);
  if (!datagram) return 0;
  if (!std::ranges::equal(encode_run_datagram(*datagram), bytes)) std::abort();
  return 0;
}
