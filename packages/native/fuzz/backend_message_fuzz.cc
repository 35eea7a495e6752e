#include <cstdlib>

#include "multi_end/lease_messages.h"

// Decodes a message from another node of the connection. Checks that a message that decodes can be
// encoded again with the same meaning.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  const auto message = decode_backend_message({data, size});
  if (!message) return 0;
  const std::vector<std::uint8_t> bytes = encode_backend_message(*message);
  const auto again = decode_backend_message(bytes);
  if (!again || again->path != message->path || again->body.index() != message->body.index() ||
      encode_backend_message(*again) != bytes) {
    std::abort();
  }
  return 0;
}
