#include "stream/send_chunk.h"

namespace sheaf::quic {

SendChunk SendChunk::copy_of(Bytes bytes) {
  if (bytes.empty()) return {};
  auto* copy = new std::uint8_t[bytes.size()];
  std::memcpy(copy, bytes.data(), bytes.size());
  return SendChunk(
      {copy, bytes.size()}, [](void* owner) { delete[] static_cast<std::uint8_t*>(owner); }, copy);
}

}  // namespace sheaf::quic
