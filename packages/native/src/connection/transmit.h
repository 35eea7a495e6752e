#pragma once

#include <array>
#include <cstdint>

#include "util/address.h"
#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

// A received UDP payload. The engine decrypts in place.
struct Datagram {
  MutableBytes payload;
  AddressPair path;
  Ecn ecn = Ecn::kNotEct;
  // A part of a datagram that the anti-amplification allowance includes already.
  bool counted = false;
};

// Datagrams to one destination that the engine wrote back to back, in the form that UDP
// segmentation offload takes: all of `segment_size` bytes but the last, which may be shorter.
struct TransmitBatch {
  MutableBytes buffer;  // given by the caller; 64 KiB is a useful size
  std::size_t max_segments = 32;

  std::size_t size = 0;  // bytes written; 0 = nothing to send
  std::size_t segment_size = 0;
  AddressPair path;
  Ecn ecn = Ecn::kNotEct;

  std::size_t segments() const {
    return segment_size == 0 ? 0 : (size + segment_size - 1) / segment_size;
  }
};

}  // namespace sheaf::quic
