#include "io/cached_file.h"

#include <sys/uio.h>

namespace sheaf::io {

std::size_t read_cached(int descriptor, quic::MutableBytes into, std::uint64_t position) {
  const iovec room{into.data(), into.size()};
  const ssize_t size = preadv2(descriptor, &room, 1, static_cast<off_t>(position), RWF_NOWAIT);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

}  // namespace sheaf::io
