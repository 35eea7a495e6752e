#pragma once

#include <array>
#include <optional>
#include <vector>

#include "http3/capsule.h"
#include "tunnel/packet.h"
#include "tunnel_request/payload_contexts.h"

namespace sheaf::tunnel_request {

// Maximum UDP payload (RFC 9298 §5)
inline constexpr std::size_t k_max_payload = 65527;

// Bytes of the context id in front of a payload that is sent
inline constexpr std::size_t k_context_size = 1;
// The context id of reports (docs/reference/wire.md). Odd ids are the proxy's choice.
inline constexpr std::array<std::uint8_t, 1> k_report_context{1};

// Type and length of a DATAGRAM capsule, and a context id
inline constexpr std::size_t k_capsule_overhead = 1 + 8 + k_context_size;

// The capsules that a tunnel knows
std::optional<http3::CapsuleRule> capsule_rule(std::uint64_t type);

// What an HTTP datagram of the other side is, whatever it came in
struct ClientDatagram {
  // kReport: one of the proxy, for a client that has asked for reports
  enum class Kind : std::uint8_t { kPayload, kReport, kUnknownContext, kMalformed };
  Kind kind = Kind::kMalformed;
  Bytes payload;  // of UDP, or a report
  Ecn ecn = Ecn::kNotEct;
};
// `takes_reports`: the proxy has agreed to make some.
ClientDatagram read_client_datagram(Bytes datagram, const PayloadContexts& contexts,
                                    bool takes_reports);

// Appends a packet of the target in a capsule.
void append_capsule(std::vector<std::uint8_t>& out, const tunnel::Packet& packet,
                    const PayloadContexts& contexts);

}  // namespace sheaf::tunnel_request
