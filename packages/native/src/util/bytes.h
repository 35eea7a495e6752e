#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sheaf::quic {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

// Loads and stores integers in network byte order, at any alignment.
template <typename T>
constexpr T swap_to_network_order(T value) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}
template <typename T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return swap_to_network_order(value);
}
template <typename T>
void store(std::uint8_t* to, T value) {
  value = swap_to_network_order(value);
  std::memcpy(to, &value, sizeof value);
}

// Reads bytes from the network. Every read is checked, and the first failure sticks: a decoder may
// read a whole structure and call `ok()` once.
class Reader {
 public:
  explicit Reader(Bytes bytes) : position_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  bool empty() const { return position_ == end_; }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - position_); }
  const std::uint8_t* position() const { return position_; }

  std::uint8_t read_u8() { return take(1) ? position_[-1] : 0; }
  std::uint16_t read_u16() { return take(2) ? load<std::uint16_t>(position_ - 2) : 0; }
  std::uint32_t read_u32() { return take(4) ? load<std::uint32_t>(position_ - 4) : 0; }
  // Reads a variable-length integer (RFC 9000 §16). Returns 0 after a failure.
  std::uint64_t read_varint() {
    if (position_ == end_) return fail();
    if (*position_ < 0x40) return *position_++;
    const std::size_t length = std::size_t{1} << (*position_ >> 6);
    if (remaining() < length) return fail();
    position_ += length;
    if (length == 2) return load<std::uint16_t>(position_ - 2) & 0x3fff;
    if (length == 4) return load<std::uint32_t>(position_ - 4) & 0x3fff'ffff;
    return load<std::uint64_t>(position_ - 8) & 0x3fff'ffff'ffff'ffff;
  }
  // Returns an empty span after a failure.
  Bytes read_bytes(std::uint64_t length) {
    if (!take(length)) return {};
    return {position_ - length, static_cast<std::size_t>(length)};
  }
  Bytes read_rest() { return read_bytes(remaining()); }

 private:
  bool take(std::uint64_t length) {
    if (length > remaining()) {
      fail();
      return false;
    }
    position_ += length;
    return true;
  }
  std::uint64_t fail() {
    ok_ = false;
    position_ = end_;
    return 0;
  }

  const std::uint8_t* position_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

// The largest variable-length integer (RFC 9000 §16).
inline constexpr std::uint64_t k_max_varint = (std::uint64_t{1} << 62) - 1;

constexpr std::size_t varint_size(std::uint64_t value) {
  return value < 64 ? 1 : value < 16384 ? 2 : value < (1u << 30) ? 4 : 8;
}

// Writes into a buffer whose room the caller has checked with `remaining`; an overrun is a bug of
// the caller.
class Writer {
 public:
  explicit Writer(MutableBytes bytes)
      : begin_(bytes.data()), position_(begin_), end_(begin_ + bytes.size()) {}

  std::size_t size() const { return static_cast<std::size_t>(position_ - begin_); }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - position_); }
  std::uint8_t* position() { return position_; }
  MutableBytes written() const { return {begin_, size()}; }
  // Counts bytes that were written through `position()`.
  void advance(std::size_t length) { position_ += length; }
  // Reserves room at the end (a packet keeps 16 bytes for its tag).
  void truncate(std::size_t reserved) { end_ -= reserved; }

  void write_u8(std::uint8_t value) { *position_++ = value; }
  void write_u16(std::uint16_t value) { write(value); }
  void write_u32(std::uint32_t value) { write(value); }
  void write_varint(std::uint64_t value) { write_varint(value, varint_size(value)); }
  // Writes with a chosen size of 1, 2, 4 or 8 bytes, which must be large enough for the value.
  void write_varint(std::uint64_t value, std::size_t length) {
    if (length == 1) return write_u8(static_cast<std::uint8_t>(value));
    if (length == 2) return write(static_cast<std::uint16_t>(value | 0x4000));
    if (length == 4) return write(static_cast<std::uint32_t>(value | 0x8000'0000));
    write(value | 0xc000'0000'0000'0000);
  }
  void write_bytes(Bytes bytes) {
    if (bytes.empty()) return;
    std::memcpy(position_, bytes.data(), bytes.size());
    position_ += bytes.size();
  }

 private:
  template <typename T>
  void write(T value) {
    store(position_, value);
    position_ += sizeof value;
  }

  std::uint8_t* begin_;
  std::uint8_t* position_;
  std::uint8_t* end_;
};

}  // namespace sheaf::quic
