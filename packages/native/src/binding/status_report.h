#pragma once

#include <napi.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "endpoint/endpoint.h"

namespace sheaf::binding {

std::string hex(quic::Bytes bytes);
// Parses a hash of 64 hexadecimal digits, which colons may separate.
std::optional<std::array<std::uint8_t, 32>> parse_hash(const std::string& text);
// Appends the hashes of a list. Returns false when one of its texts is no hash.
bool parse_hashes(const Napi::Value& list, std::vector<std::array<std::uint8_t, 32>>& out);
std::string ip_text(const quic::Address& address);
const char* family_text(const quic::Address& address);

// These return the `SocketAddress`, `ConnectionStatus` and `TransportCounters` of lib/types.ts.
Napi::Object address_object(Napi::Env env, const quic::Address& address);
Napi::Object status_object(Napi::Env env, const quic::ConnectionDriver& driver, quic::Time now);
Napi::Object counters_object(Napi::Env env, const quic::Endpoint& endpoint);

}  // namespace sheaf::binding
