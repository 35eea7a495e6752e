#include "stream/allocation_counter.h"

#include <cstdlib>
#include <new>

namespace {
std::size_t allocations = 0;
std::size_t bytes = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  bytes += size;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sheaf::quic {

std::size_t allocation_count() { return allocations; }
std::size_t allocated_bytes() { return bytes; }

}  // namespace sheaf::quic
