#include "crypto/tls_context.h"

#include <gnutls/x509.h>

#include <algorithm>

#include "crypto/tls_renewal.h"

namespace sheaf::quic {
namespace {

// Leaves out AES-CCM, whose suites are rare, and for which the engine has no provider.
constexpr const char* k_default_priority =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1:"
    "%DISABLE_TLS13_COMPAT_MODE";

// Limits of GnuTLS.
constexpr std::size_t k_max_protocols = 8;
constexpr std::size_t k_max_protocol_length = 32;

gnutls_datum_t datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned>(text.size())};
}

std::string explain(const char* what, int error) {
  return std::string(what) + ": " + gnutls_strerror(error);
}

TlsContext::Problem check_certificate_pem(const std::string& pem) {
  gnutls_x509_crt_t* certificates = nullptr;
  unsigned count = 0;
  const gnutls_datum_t data = datum(pem);
  const int result =
      gnutls_x509_crt_list_import2(&certificates, &count, &data, GNUTLS_X509_FMT_PEM, 0);
  if (result < 0) return explain("The certificate is not valid PEM", result);
  for (unsigned i = 0; i < count; ++i) gnutls_x509_crt_deinit(certificates[i]);
  gnutls_free(certificates);
  return std::nullopt;
}

TlsContext::Problem check_private_key_pem(const std::string& pem) {
  gnutls_x509_privkey_t key = nullptr;
  gnutls_x509_privkey_init(&key);
  const gnutls_datum_t data = datum(pem);
  const int result =
      gnutls_x509_privkey_import2(key, &data, GNUTLS_X509_FMT_PEM, nullptr, GNUTLS_PKCS_PLAIN);
  gnutls_x509_privkey_deinit(key);
  if (result == 0) return std::nullopt;
  if (pem.find("ENCRYPTED") != std::string::npos) {
    return "The private key is protected by a password; store it without one.";
  }
  return explain("The private key is not valid PEM", result);
}

Result<std::shared_ptr<TlsContext>, std::string> make_without_tickets(
    const TlsServerConfig& config) {
  auto context = std::make_shared<TlsContext>(Role::kServer);
  if (auto problem = context->set_priority(k_default_priority)) return *problem;
  if (auto problem = context->set_alpn(config.alpn)) return *problem;
  if (auto problem = context->set_certificate(config.certificate_pem, config.private_key_pem)) {
    return *problem;
  }
  return context;
}

}  // namespace

TlsContext::TlsContext(Role role)
    : role_(role),
      early_data_(std::make_shared<EarlyDataGuard>()),
      ticket_keys_(std::make_shared<TicketKeys>()) {
  gnutls_certificate_allocate_credentials(&credentials_);
}

TlsContext::~TlsContext() {
  if (priority_ != nullptr) gnutls_priority_deinit(priority_);
  gnutls_certificate_free_credentials(credentials_);
}

TlsContext::Problem TlsContext::set_alpn(const std::vector<std::string>& protocols) {
  if (protocols.empty()) return "No application protocol (ALPN) is given; QUIC requires one.";
  if (protocols.size() > k_max_protocols) return "At most 8 application protocols are possible.";
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > k_max_protocol_length) {
      return "The application protocol \"" + protocol + "\" is not 1 to 32 bytes long.";
    }
  }
  alpn_ = protocols;
  return std::nullopt;
}

TlsContext::Problem TlsContext::set_certificate(const std::string& certificate_pem,
                                                const std::string& private_key_pem) {
  if (auto problem = check_certificate_pem(certificate_pem)) return problem;
  if (auto problem = check_private_key_pem(private_key_pem)) return problem;
  const gnutls_datum_t certificate = datum(certificate_pem);
  const gnutls_datum_t key = datum(private_key_pem);
  const int result = gnutls_certificate_set_x509_key_mem2(
      credentials_, &certificate, &key, GNUTLS_X509_FMT_PEM, nullptr, GNUTLS_PKCS_PLAIN);
  if (result == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) {
    return "The private key does not belong to the certificate.";
  }
  if (result < 0) return explain("The certificate and its key cannot be used", result);
  return std::nullopt;
}

TlsContext::Problem TlsContext::set_secrets(const ServerSecrets& secrets) {
  if (!secrets.empty()) ticket_keys_->derive_from(secrets);
  if (ticket_keys_->current(tls_clock_now())) return std::nullopt;
  return "There are no random bytes for the ticket keys.";
}

TlsContext::Problem TlsContext::set_early_data(bool accept) {
  const int result = accept ? early_data_->begin() : 0;
  if (result < 0) return explain("The replay record cannot be made", result);
  return std::nullopt;
}

void TlsContext::resume_tickets_of(const TlsContext& predecessor) {
  ticket_keys_ = predecessor.ticket_keys_;
  early_data_ = predecessor.early_data_;
}

TlsContext::Problem TlsContext::set_trust(const TlsClientConfig& config) {
  insecure_ = config.insecure;
  hashes_ = config.certificate_hashes;
  key_hashes_ = config.public_key_hashes;
  if (insecure_ || pinned()) return std::nullopt;
  int authorities = gnutls_certificate_set_x509_system_trust(credentials_);
  if (!config.certificate_authority_pem.empty()) {
    const gnutls_datum_t data = datum(config.certificate_authority_pem);
    const int result =
        gnutls_certificate_set_x509_trust_mem(credentials_, &data, GNUTLS_X509_FMT_PEM);
    if (result < 0) return explain("The certificate authority is not valid PEM", result);
    if (result == 0) return "The certificate authority is not valid PEM: no certificate in it.";
    authorities = result + std::max(authorities, 0);
  }
  if (authorities <= 0) {
    return "This system has no trusted certificate authorities; install the package "
           "ca-certificates, or give a certificate authority or certificate hashes.";
  }
  return std::nullopt;
}

TlsContext::Problem TlsContext::set_priority(const std::string& priority) {
  gnutls_priority_t made = nullptr;
  const int result = gnutls_priority_init(&made, priority.c_str(), nullptr);
  if (result < 0) return explain("The cipher suites cannot be set", result);
  if (priority_ != nullptr) gnutls_priority_deinit(priority_);
  priority_ = made;
  return std::nullopt;
}

Result<std::shared_ptr<TlsContext>, std::string> make_tls_server_context(
    const TlsServerConfig& config) {
  auto made = make_without_tickets(config);
  if (!made) return made.error();
  const auto& context = *made;
  if (auto problem = context->set_secrets(config.secrets)) return *problem;
  if (auto problem = context->set_early_data(config.early_data)) return *problem;
  if (config.replays) context->early_data().share(config.replays);
  return context;
}

Result<std::shared_ptr<TlsContext>, std::string> renew_tls_server_context(
    const TlsServerConfig& config, const TlsContext& predecessor) {
  auto made = make_without_tickets(config);
  if (made) (*made)->resume_tickets_of(predecessor);
  return made;
}

Result<std::shared_ptr<TlsContext>, std::string> make_tls_client_context(
    const TlsClientConfig& config) {
  auto context = std::make_shared<TlsContext>(Role::kClient);
  if (auto problem = context->set_priority(k_default_priority)) return *problem;
  if (auto problem = context->set_alpn(config.alpn)) return *problem;
  if (auto problem = context->set_trust(config)) return *problem;
  return context;
}

}  // namespace sheaf::quic
