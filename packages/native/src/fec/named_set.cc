#include "fec/named_set.h"

#include <algorithm>
#include <array>

namespace sheaf::quic::fec {
namespace {

constexpr std::uint8_t k_form_gaps = 0x80;
constexpr std::uint8_t k_form_reserved = 0x60;
constexpr std::uint8_t k_form_length = 0x1f;

bool fits_bitmap(std::uint64_t first, std::uint64_t last) { return last - first < k_max_set_size; }

}  // namespace

bool NamedSet::add(std::uint64_t number) {
  if (number > k_max_varint) return false;
  if (empty()) {
    numbers_.push_back(number);
    return true;
  }
  if (number <= last()) return false;
  const std::size_t gap_bytes = gap_bytes_ + varint_size(number - last() - 1);
  if (!fits_bitmap(first(), number) && gap_bytes > k_max_set_body) return false;
  numbers_.push_back(number);
  gap_bytes_ = gap_bytes;
  return true;
}

bool NamedSet::operator==(const NamedSet& other) const {
  return std::ranges::equal(numbers(), other.numbers());
}

bool NamedSet::prefers_gaps() const {
  return !fits_bitmap(first(), last()) || gap_bytes_ < bitmap_bytes();
}

void NamedSet::write(Writer& writer) const {
  writer.write_varint(first());
  const std::size_t length = body_bytes();
  if (prefers_gaps()) {
    writer.write_u8(static_cast<std::uint8_t>(k_form_gaps | length));
    std::uint64_t before = first();
    for (const std::uint64_t number : numbers().subspan(1)) {
      writer.write_varint(number - before - 1);
      before = number;
    }
    return;
  }
  writer.write_u8(static_cast<std::uint8_t>(length));
  std::array<std::uint8_t, k_max_set_body> bitmap{};
  for (const std::uint64_t number : numbers().subspan(1)) {
    const std::uint64_t bit = number - first() - 1;
    bitmap[bit / 8] = static_cast<std::uint8_t>(bitmap[bit / 8] | 1u << (bit % 8));
  }
  writer.write_bytes(Bytes(bitmap).first(length));
}

std::optional<NamedSet> NamedSet::read(Reader& reader) {
  NamedSet set;
  const std::uint64_t first = reader.read_varint();
  const std::uint8_t form = reader.read_u8();
  const std::size_t length = form & k_form_length;
  const Bytes body = reader.read_bytes(length);
  if (!reader.ok() || (form & k_form_reserved) != 0 || length > k_max_set_body) return std::nullopt;
  set.add(first);
  const bool gaps = (form & k_form_gaps) != 0;
  if (!(gaps ? set.read_gaps(body) : set.read_bitmap(body))) return std::nullopt;
  if (gaps != set.prefers_gaps() || length != set.body_bytes()) return std::nullopt;
  return set;
}

bool NamedSet::read_bitmap(Bytes body) {
  const std::uint64_t next = first() + 1;
  for (std::size_t bit = 0; bit < 8 * body.size(); ++bit) {
    if ((body[bit / 8] >> (bit % 8) & 1) == 0) continue;
    if (!fits_bitmap(first(), next + bit) || !add(next + bit)) return false;
  }
  return true;
}

bool NamedSet::read_gaps(Bytes body) {
  Reader gaps(body);
  while (!gaps.empty()) {
    const std::uint64_t gap = gaps.read_varint();
    if (!gaps.ok() || !add(last() + 1 + gap)) return false;
  }
  return true;
}

}  // namespace sheaf::quic::fec
