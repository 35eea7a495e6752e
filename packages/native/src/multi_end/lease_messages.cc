#include "multi_end/lease_messages.h"

namespace sheaf::quic {

namespace {

constexpr std::uint8_t k_message_version = 1;
constexpr std::size_t k_max_size = 2 + 8 + 7 * 8;  // a grant with the largest numbers

enum class Type : std::uint8_t {
  kRequest = 1,
  kGrant = 2,
  kReturn = 3,
  kReport = 4,
  kHeard = 5,
};

struct BodyWriter {
  Writer& out;

  void operator()(const LeaseRequest& request) const {
    out.write_u8(static_cast<std::uint8_t>(Type::kRequest));
    out.write_varint(request.credit);
    for (const std::uint64_t leases : request.id_leases) out.write_varint(leases);
  }
  void operator()(const LeaseGrant& grant) const {
    out.write_u8(static_cast<std::uint8_t>(Type::kGrant));
    out.write_varint(grant.credit);
    for (std::size_t i = 0; i < grant.ids.size(); ++i) {
      out.write_varint(grant.id_leases[i]);
      out.write_varint(grant.ids[i].first);
      out.write_varint(grant.ids[i].count);
    }
  }
  void operator()(const LeaseReturn& given_up) const {
    out.write_u8(static_cast<std::uint8_t>(Type::kReturn));
    out.write_varint(given_up.credit);
  }
  void operator()(const ReceivedReport& report) const {
    out.write_u8(static_cast<std::uint8_t>(Type::kReport));
    out.write_varint(report.consumed);
    out.write_varint(report.streams_closed);
    out.write_varint(report.max_data);
  }
  void operator()(const ClientHeard&) const {
    out.write_u8(static_cast<std::uint8_t>(Type::kHeard));
  }
};

LeaseGrant read_grant(Reader& in) {
  LeaseGrant grant;
  grant.credit = in.read_varint();
  for (std::size_t i = 0; i < grant.ids.size(); ++i) {
    grant.id_leases[i] = in.read_varint();
    grant.ids[i].first = in.read_varint();
    grant.ids[i].count = in.read_varint();
  }
  return grant;
}

bool in_range(const LeaseGrant& grant) {
  for (const StreamLease::Ids& ids : grant.ids) {
    if (ids.first > k_max_streams || ids.count > k_max_streams - ids.first) return false;
  }
  return true;
}

}  // namespace

std::vector<std::uint8_t> encode_backend_message(const BackendMessage& message) {
  std::array<std::uint8_t, k_max_size> buffer;
  Writer out(buffer);
  out.write_u8(k_message_version);
  out.write_varint(message.path.value);
  std::visit(BodyWriter{out}, message.body);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(out.size())};
}

Result<BackendMessage, BackendMessageFault> decode_backend_message(Bytes bytes) {
  Reader in(bytes);
  if (in.read_u8() != k_message_version) return BackendMessageFault::kUnknownVersion;
  const std::uint64_t path = in.read_varint();
  BackendMessage message;
  message.path.value = static_cast<std::uint32_t>(path);
  switch (static_cast<Type>(in.read_u8())) {
    case Type::kRequest:
      message.body = LeaseRequest{.credit = in.read_varint(),
                                  .id_leases = {in.read_varint(), in.read_varint()}};
      break;
    case Type::kGrant:
      message.body = read_grant(in);
      break;
    case Type::kReturn:
      message.body = LeaseReturn{in.read_varint()};
      break;
    case Type::kReport:
      message.body = ReceivedReport{.consumed = in.read_varint(),
                                    .streams_closed = in.read_varint(),
                                    .max_data = in.read_varint()};
      break;
    case Type::kHeard:
      message.body = ClientHeard{};
      break;
    default:
      return BackendMessageFault::kMalformed;
  }
  if (!in.ok() || !in.empty()) return BackendMessageFault::kMalformed;
  const auto* grant = std::get_if<LeaseGrant>(&message.body);
  if (path > UINT32_MAX || (grant && !in_range(*grant))) return BackendMessageFault::kOutOfRange;
  return message;
}

}  // namespace sheaf::quic
