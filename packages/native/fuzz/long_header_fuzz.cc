#include <cstdlib>

#include "wire/packet_header.h"

// Walks a datagram of coalesced packets.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  Bytes datagram{data, size};
  while (const auto header = decode_long_header(datagram)) {
    if (header->packet_length > datagram.size()) std::abort();
    if (header->packet_number_offset > header->packet_length) std::abort();
    if (!header->token.empty() && (header->token.data() < datagram.data() ||
                                   header->token.data() + header->token.size() >
                                       datagram.data() + header->packet_number_offset)) {
      std::abort();
    }
    datagram = datagram.subspan(header->packet_length);
  }
  return 0;
}
