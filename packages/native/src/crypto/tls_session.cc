#include "crypto/tls_session.h"

#include <arpa/inet.h>

#include "crypto/tls_callbacks.h"
#include "crypto/tls_clock.h"

namespace sheaf::quic {
namespace {

// Maximum size of a ClientHello, which no genuine one exceeds: post-quantum key shares need about 2
// KB, and a ticket at most 64 KB. For clients, GnuTLS's own limit on certificate chains applies.
constexpr std::size_t k_max_client_hello = 80 * 1024;

bool is_ip_address(const std::string& name) {
  in6_addr address;
  const std::string without_zone = name.substr(0, name.find('%'));
  return inet_pton(AF_INET, name.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, without_zone.c_str(), &address) == 1;
}

gnutls_record_encryption_level_t to_gnutls(TlsLevel level) {
  switch (level) {
    case TlsLevel::kInitial:
      return GNUTLS_ENCRYPTION_LEVEL_INITIAL;
    case TlsLevel::kEarly:
      return GNUTLS_ENCRYPTION_LEVEL_EARLY;
    case TlsLevel::kHandshake:
      return GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE;
    case TlsLevel::kApplication:
      break;
  }
  return GNUTLS_ENCRYPTION_LEVEL_APPLICATION;
}

std::string describe(int error) {
  switch (error) {
    case GNUTLS_E_NO_APPLICATION_PROTOCOL:
      return "no application protocol in common";
    case GNUTLS_E_NO_CIPHER_SUITES:
      return "no cipher suite in common";
    case GNUTLS_E_NO_COMMON_KEY_SHARE:
      return "no key exchange group in common";
    case GNUTLS_E_UNSUPPORTED_VERSION_PACKET:
      return "the peer does not speak TLS 1.3";
    case GNUTLS_E_MISSING_EXTENSION:
      return "a required TLS extension is missing";
    default:
      return gnutls_strerror(error);
  }
}

gnutls_alert_description_t alert_for(int error) {
  switch (error) {
    // GnuTLS reports these as its own fault.
    case GNUTLS_E_TLS_PACKET_DECODING_ERROR:
    case GNUTLS_E_PARSING_ERROR:
      return GNUTLS_A_DECODE_ERROR;
    default:
      return static_cast<gnutls_alert_description_t>(gnutls_error_to_alert(error, nullptr));
  }
}

}  // namespace

TlsSession::TlsSession(const TlsSessionConfig& config, TlsObserver& observer)
    : context_(config.context),
      observer_(observer),
      server_name_(config.server_name),
      key_log_(config.key_log),
      ticket_binding_(config.ticket_binding) {}

TlsSession::~TlsSession() {
  if (session_ != nullptr) gnutls_deinit(session_);
}

std::unique_ptr<TlsSession> TlsSession::make(const TlsSessionConfig& config, TlsObserver& observer,
                                             std::string& problem) {
  std::unique_ptr<TlsSession> session(new TlsSession(config, observer));
  const int result = session->set_up(config);
  if (result < 0) {
    problem = describe(result);
    return nullptr;
  }
  return session;
}

int TlsSession::set_up(const TlsSessionConfig& config) {
  const bool server = context_->role() == Role::kServer;
  // RFC 9001 §8.3: QUIC has no EndOfEarlyData. Tickets are sent once the handshake is complete.
  unsigned flags = GNUTLS_NO_END_OF_EARLY_DATA;
  flags |= server ? GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET : GNUTLS_CLIENT;
  const bool early_data = server ? context_->early_data().begun() : config.early_data;
  if (early_data) flags |= GNUTLS_ENABLE_EARLY_DATA;
  int result = gnutls_init(&session_, flags);
  if (result < 0) return result;
  result = gnutls_priority_set(session_, context_->priority());
  if (result < 0) return result;
  result = gnutls_credentials_set(session_, GNUTLS_CRD_CERTIFICATE, context_->credentials());
  if (result < 0) return result;

  std::vector<gnutls_datum_t> protocols;
  for (const std::string& protocol : context_->alpn()) {
    protocols.push_back({reinterpret_cast<unsigned char*>(const_cast<char*>(protocol.data())),
                         static_cast<unsigned>(protocol.size())});
  }
  result =
      gnutls_alpn_set_protocols(session_, protocols.data(), static_cast<unsigned>(protocols.size()),
                                GNUTLS_ALPN_MANDATORY | GNUTLS_ALPN_SERVER_PRECEDENCE);
  if (result < 0) return result;
  result = Callbacks::install(*this);
  if (result < 0) return result;
  return server ? set_up_server() : set_up_client(config);
}

int TlsSession::set_up_server() {
  gnutls_handshake_set_max_packet_length(session_, k_max_client_hello);
  const int result = use_ticket_keys(context_->ticket_keys().current(tls_clock_now()));
  recording_ = context_->early_data().recording();
  if (result < 0 || !recording_) return result;
  gnutls_anti_replay_enable(session_, recording_.get());
  // RFC 9001 §4.6.1: QUIC allows only this value; flow control sets the limit.
  return gnutls_record_set_max_early_data_size(session_, 0xffffffffu);
}

int TlsSession::set_up_client(const TlsSessionConfig& config) {
  // RFC 6066 §3: an IP address is no server name.
  if (!server_name_.empty() && !is_ip_address(server_name_)) {
    const int result =
        gnutls_server_name_set(session_, GNUTLS_NAME_DNS, server_name_.data(), server_name_.size());
    if (result < 0) return result;
  }
  if (config.resume.empty()) return 0;
  // A session that GnuTLS cannot read (of an older version) only costs a full handshake.
  gnutls_session_set_data(session_, config.resume.data(), config.resume.size());
  return 0;
}

TlsSession::Progress TlsSession::advance(TlsLevel level, Bytes data) {
  if (!data.empty()) {
    const int result = gnutls_handshake_write(session_, to_gnutls(level), data.data(), data.size());
    if (result < 0 && gnutls_error_is_fatal(result) != 0) return fail(result);
  }
  if (done_) return Progress::kDone;
  const int result = gnutls_handshake(session_);
  if (result == 0) return finish();
  return gnutls_error_is_fatal(result) != 0 ? fail(result) : Progress::kPending;
}

TlsSession::Progress TlsSession::fail(int error) {
  // One of our callbacks may have given a better reason already.
  if (failure_.reason.empty()) failure_ = {alert_for(error), describe(error)};
  return Progress::kFailed;
}

std::string TlsSession::alpn() const {
  gnutls_datum_t protocol{};
  if (gnutls_alpn_get_selected_protocol(session_, &protocol) != 0) return {};
  return {reinterpret_cast<char*>(protocol.data), protocol.size};
}

TlsSession::Progress TlsSession::finish() {
  // RFC 9001 §8.1: a server that answers without ALPN is refused.
  if (alpn().empty()) return fail(GNUTLS_E_NO_APPLICATION_PROTOCOL);
  // RFC 9001 §8.2.
  if (!has_peer_parameters_) return fail(GNUTLS_E_MISSING_EXTENSION);
  resumed_ = gnutls_session_is_resumed(session_) != 0;
  early_data_accepted_ = (gnutls_session_get_flags(session_) & GNUTLS_SFLAGS_EARLY_DATA) != 0;
  done_ = true;
  return Progress::kDone;
}

void TlsSession::send_ticket() {
  const TlsClockShift dated_back(-k_ticket_age_tolerance);
  // Without a ticket the client cannot resume, but the connection is not affected.
  gnutls_session_ticket_send(session_, 1, 0);
}

int TlsSession::use_ticket_keys(std::optional<TicketKeys::Generation> generation) {
  if (!generation) return GNUTLS_E_RANDOM_FAILED;
  TicketKey key = context_->ticket_keys().key(*generation, ticket_binding_);
  const gnutls_datum_t data{key.data(), static_cast<unsigned>(key.size())};
  const int result = gnutls_session_ticket_enable_server(session_, &data);
  gnutls_memset(key.data(), 0, key.size());
  if (result >= 0) ticket_generation_ = *generation;
  return result;
}

bool TlsSession::rebind_tickets(std::vector<std::uint8_t> binding) {
  ticket_binding_ = std::move(binding);
  return use_ticket_keys(ticket_generation_) >= 0;
}

bool TlsSession::receive_ticket(Bytes message) {
  const int result = gnutls_handshake_write(session_, GNUTLS_ENCRYPTION_LEVEL_APPLICATION,
                                            message.data(), message.size());
  if (result >= 0 || gnutls_error_is_fatal(result) == 0) return true;
  fail(result);
  return false;
}

}  // namespace sheaf::quic
