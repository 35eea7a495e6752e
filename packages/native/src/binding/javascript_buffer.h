#pragma once

#include <napi.h>

#include "stream/send_chunk.h"

namespace sheaf::binding {

// Up to this size a copy costs less than what keeps a Buffer alive: a reference that the garbage
// collector has to visit. `copiedBytes` of lib/lent_bytes.ts says the same.
inline constexpr std::size_t k_copied_bytes = 4096;

// Lends a Buffer's bytes to the transport: the Buffer is kept alive until the chunk is released,
// which happens on this thread. Copies few bytes.
inline quic::SendChunk lend(const Napi::Uint8Array& buffer) {
  if (buffer.ByteLength() <= k_copied_bytes) {
    return quic::SendChunk::copy_of(quic::Bytes(buffer.Data(), buffer.ByteLength()));
  }
  auto* reference = new Napi::ObjectReference(Napi::Persistent(buffer.As<Napi::Object>()));
  return quic::SendChunk(
      quic::Bytes(buffer.Data(), buffer.ByteLength()),
      [](void* owner) { delete static_cast<Napi::ObjectReference*>(owner); }, reference);
}

// Buffer or other Uint8Array, or nothing.
inline std::optional<Napi::Uint8Array> as_bytes(const Napi::Value& value) {
  if (!value.IsTypedArray()) return std::nullopt;
  auto array = value.As<Napi::TypedArray>();
  if (array.TypedArrayType() != napi_uint8_array) return std::nullopt;
  return array.As<Napi::Uint8Array>();
}

}  // namespace sheaf::binding
