#include "binding/status_report.h"

#include "binding/backend_report.h"
#include "binding/event_list.h"
#include "io/socket_address.h"
#include "multi_end/backends.h"

namespace sheaf::binding {

namespace {

double milliseconds(quic::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

const char* state_text(const quic::ConnectionDriver& driver) {
  switch (driver.connection().state()) {
    case quic::Connection::State::kHandshaking:
      return "handshake";
    case quic::Connection::State::kEstablished:
      return "established";
    case quic::Connection::State::kClosing:
      return "closing";
    case quic::Connection::State::kDraining:
      return "draining";
    case quic::Connection::State::kClosed:
      break;
  }
  return "closed";
}

const char* state_text(quic::PathState state) {
  switch (state) {
    case quic::PathState::kValidating:
      return "validating";
    case quic::PathState::kActive:
      return "active";
    case quic::PathState::kSilent:
      return "silent";
    case quic::PathState::kAbandoned:
      break;
  }
  return "abandoned";
}

const char* status_text(quic::PathStatus status) {
  return status == quic::PathStatus::kBackup ? "backup" : "available";
}

Napi::Object path_object(Napi::Env env, const quic::PathStats& path) {
  Napi::Object out = Napi::Object::New(env);
  out.Set("id", path.id.value);
  out.Set("local", address_object(env, path.addresses.local));
  out.Set("remote", address_object(env, path.addresses.remote));
  out.Set("state", state_text(path.state));
  out.Set("status", status_text(path.status));
  out.Set("peerStatus", status_text(path.peer_status));
  out.Set("smoothedRttMs", milliseconds(path.smoothed_rtt));
  out.Set("rttVarianceMs", milliseconds(path.rtt_variance));
  out.Set("minRttMs", milliseconds(path.minimum_rtt));
  out.Set("congestionWindow", number(path.congestion_window));
  out.Set("bytesInFlight", number(path.bytes_in_flight));
  out.Set("bytesSent", number(path.bytes_sent));
  out.Set("bytesReceived", number(path.bytes_received));
  out.Set("packetsSent", number(path.packets_sent));
  out.Set("packetsReceived", number(path.packets_received));
  out.Set("packetsLost", number(path.packets_lost));
  out.Set("mtu", static_cast<double>(path.mtu));
  return out;
}

}  // namespace

std::string hex(quic::Bytes bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

std::optional<std::array<std::uint8_t, 32>> parse_hash(const std::string& text) {
  std::array<std::uint8_t, 32> out{};
  std::size_t digits = 0;
  for (const char character : text) {
    if (character == ':') continue;
    const bool lower = character >= 'a' && character <= 'f';
    const bool upper = character >= 'A' && character <= 'F';
    if (digits == 64 || !(lower || upper || (character >= '0' && character <= '9'))) {
      return std::nullopt;
    }
    const int value = lower ? character - 'a' + 10 : upper ? character - 'A' + 10 : character - '0';
    out[digits / 2] = static_cast<std::uint8_t>(out[digits / 2] << 4 | value);
    ++digits;
  }
  if (digits != 64) return std::nullopt;
  return out;
}

bool parse_hashes(const Napi::Value& list, std::vector<std::array<std::uint8_t, 32>>& out) {
  const auto texts = list.As<Napi::Array>();
  for (std::uint32_t i = 0; i < texts.Length(); ++i) {
    const auto hash = parse_hash(texts.Get(i).ToString());
    if (!hash) return false;
    out.push_back(*hash);
  }
  return true;
}

std::string ip_text(const quic::Address& address) { return io::ip_string(address); }

const char* family_text(const quic::Address& address) {
  return address.family == quic::Address::Family::kIpv6 ? "IPv6" : "IPv4";
}

Napi::Object address_object(Napi::Env env, const quic::Address& address) {
  Napi::Object out = Napi::Object::New(env);
  out.Set("address", ip_text(address));
  out.Set("port", static_cast<double>(address.port));
  out.Set("family", family_text(address));
  return out;
}

Napi::Object status_object(Napi::Env env, const quic::ConnectionDriver& driver, quic::Time now) {
  const quic::ConnectionStats stats = driver.connection().stats();
  Napi::Object out = Napi::Object::New(env);
  out.Set("id", hex(driver.original_destination().view()));
  out.Set("alpn", driver.alpn());
  out.Set("state", state_text(driver));
  out.Set("memoryBytes", number(driver.memory_bytes()));
  out.Set("ageMs", milliseconds(now - driver.started()));
  out.Set("streamsOpen", number(stats.streams_open));
  out.Set("streamsTotal", number(stats.streams_total));
  out.Set("datagramsSent", number(stats.datagrams_sent));
  out.Set("datagramsReceived", number(stats.datagrams_received));
  out.Set("tunnelReportsReceived", number(stats.tunnel_reports_received));
  out.Set("datagramsUnread", number(stats.dropped_for(quic::DropReason::kUnread)));
  out.Set("keyUpdates", number(stats.key_updates));
  out.Set("resumed", driver.resumed());
  out.Set("earlyData", driver.early_data_accepted());
  out.Set("multipath", driver.connection().paths().enabled());
  out.Set("multiEnd", quic::multi_end_negotiated(driver.connection()));
  Napi::Array paths = Napi::Array::New(env);
  for (const quic::PathStats& path : driver.connection().paths().stats()) {
    paths.Set(paths.Length(), path_object(env, path));
  }
  out.Set("paths", paths);
  out.Set("backends", backends_array(env, driver));
  return out;
}

Napi::Object counters_object(Napi::Env env, const quic::Endpoint& endpoint) {
  const quic::EndpointStats stats = endpoint.stats();
  Napi::Object out = Napi::Object::New(env);
  out.Set("connectionsAccepted", number(stats.connections_accepted));
  out.Set("connectionsImported", number(stats.connections_imported));
  out.Set("connectionsOpenGauge", number(endpoint.connection_count()));
  out.Set("handshakesPendingGauge", number(endpoint.half_open_count()));
  out.Set("handshakesFailed", number(stats.handshakes_failed));
  out.Set("retriesSent", number(stats.retries_sent));
  out.Set("versionNegotiationsSent", number(stats.version_negotiations_sent));
  out.Set("statelessResetsSent", number(stats.stateless_resets_sent));
  out.Set("datagramsReceived", number(stats.datagrams_received));
  out.Set("datagramsSent", number(stats.datagrams_sent));
  out.Set("bytesReceived", number(stats.bytes_received));
  out.Set("bytesSent", number(stats.bytes_sent));
  out.Set("packetsLost", number(stats.packets_lost));
  Napi::Object dropped = Napi::Object::New(env);
  for (std::size_t i = 0; i < stats.dropped.size(); ++i) {
    const auto name = quic::to_string(static_cast<quic::DropReason>(i));
    dropped.Set(std::string(name), number(stats.dropped[i]));
  }
  out.Set("packetsDropped", dropped);
  out.Set("memoryBytesGauge", number(endpoint.memory_bytes()));
  Napi::Object hits = Napi::Object::New(env);
  for (std::size_t i = 0; i < stats.limit_hits.size(); ++i) {
    const auto name = quic::to_string(static_cast<quic::LimitHit>(i));
    hits.Set(std::string(name), number(stats.limit_hits[i]));
  }
  out.Set("limitHits", hits);
  return out;
}

}  // namespace sheaf::binding
