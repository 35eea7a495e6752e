#include "http3/capsule.h"

#include <algorithm>

namespace sheaf::http3 {

quic::Result<std::optional<Capsule>, ConnectionError> CapsuleReader::next(quic::Bytes& bytes) {
  while (!bytes.empty()) {
    if (!in_value_) {
      bytes = bytes.subspan(header_.append(bytes));
      if (!header_.complete()) break;
      in_value_ = true;
      value_left_ = header_.length();
      value_.clear();
      if (is_known_(header_.type()) && value_left_ > max_value_) {
        return ConnectionError{ErrorCode::kMessageError, "capsule is too long"};
      }
    }
    const bool known = is_known_(header_.type());
    const std::size_t part =
        static_cast<std::size_t>(std::min<std::uint64_t>(value_left_, bytes.size()));
    if (known) value_.insert(value_.end(), bytes.begin(), bytes.begin() + part);
    bytes = bytes.subspan(part);
    value_left_ -= part;
    if (value_left_ > 0) break;
    const Capsule capsule{header_.type(), value_};
    in_value_ = false;
    header_.reset();
    if (known) return std::optional<Capsule>(capsule);
  }
  return std::optional<Capsule>();
}

std::vector<std::uint8_t> encode_capsule(const Capsule& capsule) {
  std::vector<std::uint8_t> bytes(16 + capsule.value.size());
  quic::Writer writer(bytes);
  writer.write_varint(capsule.type);
  writer.write_varint(capsule.value.size());
  writer.write_bytes(capsule.value);
  bytes.resize(writer.size());
  return bytes;
}

}  // namespace sheaf::http3
