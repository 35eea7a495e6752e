#pragma once

#include <napi.h>

#include "stream/send_chunk.h"

namespace sheaf::binding {

// Maximum size, in bytes, of a Buffer that is copied. Up to here a copy costs less than a
// reference, which the garbage collector has to visit. `copiedBytes` of lib/lent_bytes.ts has the
// same value.
inline constexpr std::size_t k_copied_bytes = 4096;

// Lends a Buffer's bytes to the transport, and keeps the Buffer alive until the chunk is released,
// which happens on this thread. Copies a short one instead.
inline quic::SendChunk lend(const Napi::Uint8Array& buffer) {
  if (buffer.ByteLength() <= k_copied_bytes) {
    return quic::SendChunk::copy_of(quic::Bytes(buffer.Data(), buffer.ByteLength()));
  }
  auto* reference = new Napi::ObjectReference(Napi::Persistent(buffer.As<Napi::Object>()));
  return quic::SendChunk(
      quic::Bytes(buffer.Data(), buffer.ByteLength()),
      [](void* owner) { delete static_cast<Napi::ObjectReference*>(owner); }, reference);
}

// Returns a Buffer or another Uint8Array, or nothing for any other value.
inline std::optional<Napi::Uint8Array> as_bytes(const Napi::Value& value) {
  if (!value.IsTypedArray()) return std::nullopt;
  auto array = value.As<Napi::TypedArray>();
  if (array.TypedArrayType() != napi_uint8_array) return std::nullopt;
  return array.As<Napi::Uint8Array>();
}

}  // namespace sheaf::binding
