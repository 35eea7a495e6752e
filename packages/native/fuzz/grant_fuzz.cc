#include <cstdlib>

#include "direct_return/grant.h"

// Decodes a grant from another node. Checks that a grant that decodes is encoded again without a
// change, and has keys that a sealer takes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  const Bytes bytes(data, size);
  const auto grant = decode_grant(bytes);
  if (!grant) return 0;
  const std::vector<std::uint8_t> again = encode_grant(*grant);
  if (!std::ranges::equal(again, bytes) || !grant->keys.valid()) std::abort();
  return 0;
}
