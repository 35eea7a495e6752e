#pragma once

#include <ngtcp2/ngtcp2.h>

#include "wire/types.h"

namespace sheaf::quic {

inline ngtcp2_cid to_ngtcp2(const ConnectionId& id) {
  ngtcp2_cid cid;
  ngtcp2_cid_init(&cid, id.bytes.data(), id.length);
  return cid;
}

inline ConnectionId from_ngtcp2(const ngtcp2_cid& cid) {
  return ConnectionId(Bytes(cid.data, cid.datalen));
}

// Converts a result of ngtcp2, which is a length or a negative error.
inline std::size_t length_or_zero(ngtcp2_ssize result) {
  return result > 0 ? static_cast<std::size_t>(result) : 0;
}

}  // namespace sheaf::quic
