#include "tunnel_request/client_datagram.h"

namespace sheaf::tunnel_request {

std::optional<http3::CapsuleRule> capsule_rule(std::uint64_t type) {
  if (type != http3::k_capsule_datagram) return std::nullopt;
  constexpr std::size_t k_longest_context = 8;
  return http3::CapsuleRule{k_longest_context + k_max_payload, http3::k_max_capsule_datagram};
}

ClientDatagram read_client_datagram(Bytes datagram, const PayloadContexts& contexts,
                                    bool takes_reports) {
  using Kind = ClientDatagram::Kind;
  quic::Reader reader(datagram);
  const std::uint64_t context = reader.read_varint();
  if (!reader.ok()) return {};
  const Bytes payload = datagram.last(reader.remaining());
  if (takes_reports && context == k_report_context.front()) return {Kind::kReport, payload};
  const auto ecn = contexts.ecn_of(context);
  if (!ecn) return {Kind::kUnknownContext, {}};
  if (payload.size() > k_max_payload) return {};
  return {Kind::kPayload, payload, *ecn};
}

void append_capsule(std::vector<std::uint8_t>& out, const tunnel::Packet& packet,
                    const PayloadContexts& contexts) {
  const auto& [payload, ecn] = packet;
  const std::size_t before = out.size();
  out.resize(before + payload.size() + k_capsule_overhead);
  quic::Writer writer(quic::MutableBytes(out).subspan(before));
  writer.write_varint(http3::k_capsule_datagram);
  writer.write_varint(k_context_size + payload.size());
  writer.write_bytes(contexts.id_for(ecn));
  writer.write_bytes(payload);
  out.resize(before + writer.size());
}

}  // namespace sheaf::tunnel_request
