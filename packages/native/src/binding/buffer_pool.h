#pragma once

#include <napi.h>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "stream/send_chunk.h"

namespace sheaf::binding {

// Buffers that JavaScript fills and lends to the transport again and again. A fresh Buffer for each
// piece of a long body outlives the garbage collector's young generation, because it is kept until
// the peer has acknowledged it: the collection of the old generation then costs a server more than
// the encryption does.
class BufferPool {
 public:
  // A free Buffer of this size, or a new one. Empty where the environment has no memory for it.
  Napi::Value take(Napi::Env env, std::size_t size) {
    auto& free = free_[size];
    if (free.empty()) {
      napi_value made = nullptr;
      void* bytes = nullptr;
      if (napi_create_buffer(env, size, &bytes, &made) != napi_ok) return {};
      return {env, made};
    }
    Napi::Value buffer = free.back().Value();
    free.pop_back();
    kept_bytes_ -= size;
    return buffer;
  }

  // Lends a Buffer that was taken from here; it is free again when the chunk is released, which
  // happens on this thread and before this object is gone. JavaScript writes to it no more.
  quic::SendChunk lend(const Napi::Uint8Array& buffer) {
    auto* lent = new Lent{*this, Napi::Persistent(buffer.As<Napi::Object>()), buffer.ByteLength()};
    return quic::SendChunk(quic::Bytes(buffer.Data(), lent->size), give_back, lent);
  }

 private:
  // Covers what one fast download has in flight.
  static constexpr std::size_t k_max_kept_bytes = 4 << 20;

  struct Lent {
    BufferPool& pool;
    Napi::ObjectReference buffer;
    std::size_t size;
  };

  static void give_back(void* owner) {
    const std::unique_ptr<Lent> lent(static_cast<Lent*>(owner));
    BufferPool& pool = lent->pool;
    if (pool.kept_bytes_ + lent->size > k_max_kept_bytes) return;
    pool.kept_bytes_ += lent->size;
    pool.free_[lent->size].push_back(std::move(lent->buffer));
  }

  std::unordered_map<std::size_t, std::vector<Napi::ObjectReference>> free_;  // by size in bytes
  std::size_t kept_bytes_ = 0;
};

}  // namespace sheaf::binding
