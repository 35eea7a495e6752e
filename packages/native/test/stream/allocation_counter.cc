#include "stream/allocation_counter.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {
std::size_t allocations = 0;
std::size_t bytes = 0;
std::size_t live = 0;

void release(void* memory) {
  live -= malloc_usable_size(memory);
  std::free(memory);
}
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  bytes += size;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  live += malloc_usable_size(memory);
  return memory;
}
// A sanitizer brings these, which do not call the ones above as those of the library do.
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }

namespace sheaf::quic {

std::size_t allocation_count() { return allocations; }
std::size_t allocated_bytes() { return bytes; }
std::size_t live_bytes() { return live; }

}  // namespace sheaf::quic
