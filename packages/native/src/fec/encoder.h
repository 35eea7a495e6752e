#pragma once

#include <span>

#include "fec/kernel.h"
#include "fec/named_set.h"
#include "fec/rows.h"

namespace sheaf::quic::fec {

// Returns the length of the repairs of these payloads (symbol.h): that of the longest and 2 bytes.
std::size_t repair_size(std::span<const Bytes> payloads);

// Makes the rows `first_row`, `first_row + 1`, … of a set: one for each of `repairs`, whose length
// is that of `repair_size`. `payloads` are those of the packets of the set, in its order. Reads
// each payload once for every four rows, and allocates nothing. Returns false, and writes nothing,
// when the lengths are others.
[[nodiscard]] bool encode_repairs(const Kernel& kernel, const NamedSet& set,
                                  std::span<const Bytes> payloads, RowIndex first_row,
                                  std::span<const MutableBytes> repairs);

}  // namespace sheaf::quic::fec
