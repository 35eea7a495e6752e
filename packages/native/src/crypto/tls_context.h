#pragma once

#include <gnutls/gnutls.h>

#include <array>
#include <memory>
#include <optional>

#include "crypto/early_data_guard.h"
#include "crypto/ticket_keys.h"
#include "crypto/tls_config.h"
#include "wire/types.h"

namespace sheaf::quic {

// The GnuTLS objects behind `TlsServerConfig` and `TlsClientConfig`.
class TlsContext {
 public:
  explicit TlsContext(Role role);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // A sentence about the failure
  using Problem = std::optional<std::string>;
  Problem set_alpn(const std::vector<std::string>& protocols);
  Problem set_certificate(const std::string& certificate_pem, const std::string& private_key_pem);
  Problem set_secrets(const ServerSecrets& secrets);
  Problem set_early_data(bool accept);
  // Instead of both: ticket keys and record of 0-RTT are those of the predecessor.
  void resume_tickets_of(const TlsContext& predecessor);
  Problem set_trust(const TlsClientConfig& config);
  // Sets cipher suites and groups in GnuTLS's notation.
  Problem set_priority(const std::string& priority);

  TicketKeys& ticket_keys() { return *ticket_keys_; }
  EarlyDataGuard& early_data() { return *early_data_; }

  Role role() const { return role_; }
  gnutls_certificate_credentials_t credentials() const { return credentials_; }
  gnutls_priority_t priority() const { return priority_; }
  const std::vector<std::string>& alpn() const { return alpn_; }
  const std::vector<std::array<std::uint8_t, 32>>& certificate_hashes() const { return hashes_; }
  const std::vector<std::array<std::uint8_t, 32>>& public_key_hashes() const { return key_hashes_; }
  // Whether a hash identifies the peer, in place of a name that an authority vouches for
  bool pinned() const { return !hashes_.empty() || !key_hashes_.empty(); }
  bool insecure() const { return insecure_; }

 private:
  Role role_;
  gnutls_certificate_credentials_t credentials_ = nullptr;
  gnutls_priority_t priority_ = nullptr;
  // Both are shared with successors.
  std::shared_ptr<EarlyDataGuard> early_data_;
  std::shared_ptr<TicketKeys> ticket_keys_;
  std::vector<std::string> alpn_;
  std::vector<std::array<std::uint8_t, 32>> hashes_;
  std::vector<std::array<std::uint8_t, 32>> key_hashes_;
  bool insecure_ = false;
};

}  // namespace sheaf::quic
