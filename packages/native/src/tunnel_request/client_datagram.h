#pragma once

#include <array>
#include <optional>
#include <vector>

#include "http3/capsule.h"

namespace sheaf::tunnel_request {

using quic::Bytes;

// Maximum UDP payload (RFC 9298 §5)
inline constexpr std::size_t k_max_payload = 65527;

// The context id of UDP payloads (RFC 9298 §4)
inline constexpr std::array<std::uint8_t, 1> k_payload_context{0};
// That of reports (docs/reference/wire.md). Odd ids are the proxy's choice.
inline constexpr std::array<std::uint8_t, 1> k_report_context{1};

// Type and length of a DATAGRAM capsule, and a context id
inline constexpr std::size_t k_capsule_overhead = 1 + 8 + k_payload_context.size();

// The capsules that a tunnel knows
std::optional<http3::CapsuleRule> capsule_rule(std::uint64_t type);

// What an HTTP datagram of the other side is, whatever it came in
struct ClientDatagram {
  // kReport: one of the proxy, for a client that has asked for reports
  enum class Kind : std::uint8_t { kPayload, kReport, kUnknownContext, kMalformed };
  Kind kind = Kind::kMalformed;
  Bytes payload;  // of UDP, or a report
};
ClientDatagram read_client_datagram(Bytes datagram);

// Appends a packet of the target in a capsule.
void append_capsule(std::vector<std::uint8_t>& out, Bytes payload);

}  // namespace sheaf::tunnel_request
