#include "http3/capsule.h"
#include "webtransport/session.h"

// Feeds the bytes of a CONNECT stream in pieces, whose sizes the first bytes choose, to the reader
// of capsules and to a WebTransport session.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf;
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0];
  const quic::Bytes input(data + 1, size - 1);
  webtransport::Session session(webtransport::Dialect::kWebTransport);
  http3::CapsuleReader reader([](std::uint64_t type) {
    return type < 64 ? std::optional(http3::CapsuleRule{type % 2 == 1 ? 1000u : 100u, 100})
                     : std::nullopt;
  });
  for (std::size_t offset = 0; offset < input.size(); offset += step) {
    const quic::Bytes piece = input.subspan(offset, std::min(step, input.size() - offset));
    for (quic::Bytes rest = piece; !rest.empty();) {
      const auto capsule = reader.next(rest);
      if (!capsule) return 0;
      if (*capsule && (*capsule)->value.size() > 100) __builtin_trap();
    }
    for (quic::Bytes rest = piece; !rest.empty();) {
      const auto signal = session.read(rest);
      if (!signal) return 0;
      if (*signal && (*signal)->closed &&
          (*signal)->closed->reason.size() > webtransport::k_max_close_reason) {
        __builtin_trap();
      }
      if (*signal && (*signal)->datagram &&
          (*signal)->datagram->size() > http3::k_max_capsule_datagram) {
        __builtin_trap();
      }
    }
  }
  return 0;
}
