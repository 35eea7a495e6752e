#include "http3/capsule.h"

#include <algorithm>

namespace sheaf::http3 {

quic::Result<std::optional<Capsule>, ConnectionError> CapsuleReader::next(quic::Bytes& bytes) {
  while (!bytes.empty()) {
    if (!in_value_) {
      bytes = bytes.subspan(header_.append(bytes));
      if (!header_.complete()) break;
      if (auto status = begin_value(); !status) return status.error();
    }
    const std::size_t part =
        static_cast<std::size_t>(std::min<std::uint64_t>(value_left_, bytes.size()));
    if (kept_) value_.insert(value_.end(), bytes.begin(), bytes.begin() + part);
    bytes = bytes.subspan(part);
    value_left_ -= part;
    if (value_left_ > 0) break;
    const Capsule capsule{header_.type(), value_};
    in_value_ = false;
    header_.reset();
    if (kept_) return std::optional<Capsule>(capsule);
  }
  return std::optional<Capsule>();
}

ConnectionStatus CapsuleReader::begin_value() {
  in_value_ = true;
  value_left_ = header_.length();
  value_.clear();
  const auto rule = rule_of_(header_.type());
  kept_ = rule && value_left_ <= rule->max_kept;
  if (!rule || kept_) return {};
  if (value_left_ > rule->max_value) {
    return ConnectionError{ErrorCode::kMessageError, "capsule is too long"};
  }
  ++dropped_;
  return {};
}

void CapsuleReader::release_spare() {
  if (!in_value_) value_ = {};
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
