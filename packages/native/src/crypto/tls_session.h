#pragma once

#include <gnutls/gnutls.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "crypto/certificate_check.h"
#include "crypto/tls_context.h"
#include "crypto/traffic_secret.h"

namespace sheaf::quic {

enum class TlsLevel : std::uint8_t { kInitial, kEarly, kHandshake, kApplication };

// Receives what TLS reports to QUIC and requests from it (RFC 9001 §4.1). Returning false ends the
// handshake.
class TlsObserver {
 public:
  virtual ~TlsObserver() = default;
  // Receives secrets of one level, either of them possibly empty.
  virtual bool on_secrets(TlsLevel level, CipherSuite suite, Bytes receive, Bytes send) = 0;
  // Receives handshake messages to send in CRYPTO frames.
  virtual bool on_message(TlsLevel level, Bytes message) = 0;
  virtual bool on_peer_parameters(Bytes extension) = 0;
  virtual bool write_parameters(std::vector<std::uint8_t>& out) = 0;
  // Client: a HelloRetryRequest arrived.
  virtual bool on_hello_retry_request() = 0;
  // Client: a NewSessionTicket arrived. `session` contains everything that is needed to resume.
  virtual void on_session_ticket(Bytes session) = 0;
};

struct TlsSessionConfig {
  std::shared_ptr<TlsContext> context;
  std::string server_name;                             // client
  Bytes resume;                                        // client; empty: a full handshake
  bool early_data = false;                             // client: offer 0-RTT when resuming
  std::vector<std::uint8_t> ticket_binding;            // server: `TicketKeys::key`
  std::function<void(std::string_view line)> key_log;  // empty: none
};

// TLS 1.3 for one QUIC connection: GnuTLS without its record layer.
class TlsSession {
 public:
  enum class Progress : std::uint8_t { kPending, kDone, kFailed };

  // Creates a session. Returns null, with the reason in `problem`, when GnuTLS refuses the
  // configuration.
  static std::unique_ptr<TlsSession> make(const TlsSessionConfig& config, TlsObserver& observer,
                                          std::string& problem);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Processes the peer's handshake bytes, which may be empty, as far as possible.
  Progress advance(TlsLevel level, Bytes data);
  const TlsFailure& failure() const { return failure_; }  // after kFailed

  // Server, once done: passes one NewSessionTicket to `on_message`.
  void send_ticket();
  // Server, before a ticket is sent. Returns false once the old key has read a ticket, since GnuTLS
  // then keeps it.
  bool rebind_tickets(std::vector<std::uint8_t> binding);
  // Client, once done: receives whole NewSessionTicket messages. Returns false when GnuTLS refuses
  // them.
  bool receive_ticket(Bytes message);

  bool resumed() const { return resumed_; }
  bool early_data_accepted() const { return early_data_accepted_; }
  // Known on a server from the ClientHello on; empty before
  std::string alpn() const;
  gnutls_session_t native() { return session_; }

 private:
  TlsSession(const TlsSessionConfig& config, TlsObserver& observer);
  int set_up(const TlsSessionConfig& config);
  int set_up_server();
  int set_up_client(const TlsSessionConfig& config);
  // Server: seals and opens tickets with these keys. Returns zero, or an error of GnuTLS.
  int use_ticket_keys(std::optional<TicketKeys::Generation> generation);
  Progress fail(int error);
  Progress finish();

  // Called by GnuTLS.
  struct Callbacks;

  std::shared_ptr<TlsContext> context_;
  TlsObserver& observer_;
  std::string server_name_;
  std::function<void(std::string_view line)> key_log_;
  EarlyDataGuard::Recording recording_;  // server; outlives the session
  gnutls_session_t session_ = nullptr;
  std::vector<std::uint8_t> ticket_binding_;  // server
  TicketKeys::Generation ticket_generation_ = 0;
  TlsFailure failure_;
  bool hello_seen_ = false;  // server: a ClientHello
  bool has_peer_parameters_ = false;
  bool done_ = false;
  bool resumed_ = false;
  bool early_data_accepted_ = false;
};

}  // namespace sheaf::quic
