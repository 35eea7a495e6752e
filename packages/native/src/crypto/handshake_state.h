#pragma once

#include <deque>

#include "crypto/handshake.h"
#include "crypto/handshake_failure.h"
#include "crypto/ngtcp2_types.h"
#include "crypto/socket_address.h"
#include "crypto/tls_session.h"

namespace sheaf::quic {

// The ngtcp2 connection and the TLS session of one handshake, and what they have reported. Each
// role adds what only it does.
class HandshakeState : public TlsObserver {
 public:
  HandshakeState(Role role_of_this_side, Random& random_source, const AddressPair& path);
  ~HandshakeState() override;

  // --- called by Handshake
  void read(MutableBytes datagram, Ecn ecn, Time now);
  virtual std::size_t write(MutableBytes out, Time now);
  void on_timeout(Time now);
  // Receives TLS messages that follow the handshake.
  virtual TransportStatus receive_post_handshake(Bytes data) = 0;
  // Records a failure. Only the first one counts.
  void fail(HandshakeFailure reason);
  void free_connection();
  Duration measured_rtt() const;

  // --- TlsObserver
  bool on_secrets(TlsLevel level, CipherSuite suite, Bytes receive, Bytes send) override;
  bool on_message(TlsLevel level, Bytes message) override;
  bool on_peer_parameters(Bytes extension) override;
  bool write_parameters(std::vector<std::uint8_t>& out) override;

  // --- called by ngtcp2: 0 or its error code
  virtual int on_crypto_data(ngtcp2_encryption_level level, Bytes data);
  void on_version_negotiation(const std::uint32_t* versions, std::size_t count);

  ngtcp2_conn* connection = nullptr;
  std::deque<HandshakeEvent> events;
  std::optional<HandshakeFailure> failure;
  // A server discards the Initial keys with the first Handshake packet that it reads (RFC 9001
  // §4.9.1).
  bool initial_keys_discarded = false;
  bool completed = false;
  bool early_data_accepted = false;
  bool resumed = false;
  std::string alpn;
  std::uint32_t version = 0;
  CipherSuite suite = CipherSuite::kAes128GcmSha256;
  ConnectionId destination;

 protected:
  // Deals with a result of reading after which the attempt begins again. Returns false if it is no
  // such result.
  virtual bool begin_again(int result, MutableBytes datagram, Ecn ecn, Time now) = 0;
  // ngtcp2 has read a datagram without an error.
  virtual void on_read(Time) {}
  // TLS is done. Returns false if the handshake has failed all the same.
  virtual bool accept_completion() { return true; }
  virtual void on_completed() = 0;
  virtual void on_tls_failure();

  void emit(HandshakeEvent event);
  // Frees the connection without keeping anything of it, before another one takes its place.
  void discard_connection();

  Random& random_;
  ngtcp2_path path_{};
  std::unique_ptr<TlsSession> tls_;
  std::shared_ptr<TlsContext> tls_context_;
  TransportParameters parameters_;
  std::vector<std::uint8_t> peer_parameters_;
  bool close_due_ = false;

 private:
  std::size_t write_close(MutableBytes out, Time now);
  // Checks whether TLS is done, after ngtcp2 has returned.
  void report_completion();

  const Role role_;
  SocketAddress local_address_;
  SocketAddress remote_address_;
  bool tls_done_ = false;
  Duration smoothed_rtt_ = Duration::zero();
  std::uint32_t common_version_ = 0;
};

}  // namespace sheaf::quic
