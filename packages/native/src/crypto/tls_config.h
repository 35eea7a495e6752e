#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crypto/replay_record.h"
#include "crypto/server_secret.h"
#include "util/result.h"

namespace sheaf::quic {

// Certificate, trust, ticket keys, replay record: made once, and shared by many handshakes of one
// server or client. Belongs to one thread.
class TlsContext;

struct TlsServerConfig {
  std::string certificate_pem{};
  std::string private_key_pem{};
  std::vector<std::string> alpn{};  // most wanted first
  // For servers that open each other's tickets; empty: the keys are random, and renewed.
  ServerSecrets secrets{};
  bool early_data = true;
  // What servers with the same tickets have in common; null: a record of its own
  std::shared_ptr<ReplayRecord> replays{};
};
struct TlsClientConfig {
  std::vector<std::string> alpn{};
  std::string certificate_authority_pem{};  // beside the system's trust store; may be empty
  // SHA-256 of accepted leaf certificates, in place of a chain. The leaf must be valid now; unlike
  // in a browser, its lifetime may exceed 14 days.
  std::vector<std::array<std::uint8_t, 32>> certificate_hashes{};
  // SHA-256 of the SubjectPublicKeyInfo of accepted leaves, likewise: one key may have many
  // certificates.
  std::vector<std::array<std::uint8_t, 32>> public_key_hashes{};
  bool insecure = false;
};
// Creates a context. The error is a sentence that names the fault (bad PEM, key does not match).
Result<std::shared_ptr<TlsContext>, std::string> make_tls_server_context(const TlsServerConfig&);
Result<std::shared_ptr<TlsContext>, std::string> make_tls_client_context(const TlsClientConfig&);

}  // namespace sheaf::quic
