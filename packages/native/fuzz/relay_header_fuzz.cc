#include <cstdlib>

#include "tunnel/relay_header.h"

// Reads a datagram of a program. What is read lies in it, and says the same without the payload.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf;
  const quic::Bytes datagram{data, size};
  const auto header = tunnel::read_relay_header(datagram);
  if (!header) return 0;
  if (header->size > size || header->port == 0 || header->host_text().empty()) std::abort();
  for (const char letter : header->host_text()) {
    if (letter <= ' ' || letter > '~' || letter == '/' || letter == '%') std::abort();
  }
  const auto alone = tunnel::read_relay_header(datagram.first(header->size));
  if (!alone || alone->size != header->size || alone->host_text() != header->host_text() ||
      alone->port != header->port) {
    std::abort();
  }
  if (tunnel::read_relay_header(datagram.first(header->size - 1))) std::abort();
  return 0;
}
