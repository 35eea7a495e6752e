#pragma once

#include <napi.h>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "stream/send_chunk.h"

namespace sheaf::binding {

// Keeps Buffers that JavaScript fills and lends to the transport repeatedly. A fresh Buffer for
// each piece of a long body would be kept until the peer acknowledges it, and so outlive the young
// generation of the garbage collector. Collecting the old generation then costs a server more than
// encryption does.
class BufferPool {
 public:
  // Returns a free Buffer of this size in bytes, or a new one. Empty when the environment has no
  // memory for it.
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

  // Lends a Buffer that `take` returned. JavaScript must not write to it any more. The Buffer is
  // free again once the chunk is released, which happens on this thread and before this object is
  // destroyed.
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
