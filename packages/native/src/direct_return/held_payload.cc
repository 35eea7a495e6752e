#include "direct_return/held_payload.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr std::size_t k_copied_piece = 16 << 10;

}  // namespace

std::size_t HeldPayload::room() const {
  return static_cast<std::size_t>(k_max_held -
                                  std::min<std::uint64_t>(k_max_held, end_ - released_));
}

void HeldPayload::append(Bytes bytes) {
  while (!bytes.empty()) {
    if (pieces_.empty() || pieces_.back().copied.empty() ||
        pieces_.back().copied.size() == k_copied_piece) {
      pieces_.emplace_back().start = end_;
    }
    std::vector<std::uint8_t>& copied = pieces_.back().copied;
    const std::size_t taken = std::min(bytes.size(), k_copied_piece - copied.size());
    copied.insert(copied.end(), bytes.begin(), bytes.begin() + std::ptrdiff_t(taken));
    bytes = bytes.subspan(taken);
    end_ += taken;
  }
}

void HeldPayload::append(SendChunk chunk) {
  if (chunk.bytes().empty()) return;
  Piece& piece = pieces_.emplace_back();
  piece.start = end_;
  piece.lent = std::move(chunk);
  end_ = piece.end();
}

PayloadRead HeldPayload::read(std::uint64_t offset, MutableBytes out) {
  if (offset < released_ || offset > end_ || out.size() > end_ - offset) {
    return PayloadRead::kNotThere;
  }
  auto piece = std::ranges::upper_bound(pieces_, offset, {}, &Piece::end);
  while (!out.empty()) {
    const Bytes from = piece->bytes().subspan(static_cast<std::size_t>(offset - piece->start));
    const std::size_t size = std::min(from.size(), out.size());
    std::ranges::copy(from.first(size), out.begin());
    out = out.subspan(size);
    offset += size;
    ++piece;
  }
  return PayloadRead::kDone;
}

void HeldPayload::release(std::uint64_t offset) {
  released_ = std::max(released_, std::min(offset, end_));
  while (!pieces_.empty() && pieces_.front().end() <= released_) pieces_.pop_front();
}

}  // namespace sheaf::quic
