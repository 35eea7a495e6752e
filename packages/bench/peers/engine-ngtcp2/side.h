#pragma once

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <cstddef>
#include <cstdint>
#include <span>

inline constexpr std::size_t k_packet_size = 1350;

// One end of a connection in memory.
class Side {
 public:
  enum class Role { kClient, kServer };

  // `client_initial` is the client's first packet; a server takes its ids from it.
  Side(Role role, gnutls_certificate_credentials_t credentials,
       std::span<const std::uint8_t> client_initial);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // Length of the packet written to `out` (acknowledgements, handshake); 0 = nothing to send.
  std::size_t write_packet(std::span<std::uint8_t> out, ngtcp2_tstamp now);
  // A packet with stream data; adds what it took to `taken`.
  std::size_t write_stream(std::span<std::uint8_t> out, std::int64_t stream,
                           std::span<const std::uint8_t> data, bool fin, std::size_t& taken,
                           ngtcp2_tstamp now);
  void read_packet(std::span<const std::uint8_t> packet, ngtcp2_tstamp now);

  std::int64_t open_stream();
  bool established() const;
  std::uint64_t stream_bytes_received() const { return stream_bytes_received_; }
  std::uint64_t congestion_window() const;

 private:
  static int receive_stream_data(ngtcp2_conn*, std::uint32_t, std::int64_t, std::uint64_t,
                                 const std::uint8_t*, std::size_t length, void* user, void*);

  void start_tls(Role role, gnutls_certificate_credentials_t credentials);
  void start_connection(Role role, std::span<const std::uint8_t> client_initial);

  ngtcp2_conn* connection_ = nullptr;
  gnutls_session_t session_ = nullptr;
  gnutls_certificate_credentials_t credentials_;
  bool owns_credentials_ = false;
  ngtcp2_crypto_conn_ref reference_{};
  ngtcp2_path_storage path_{};
  std::uint64_t stream_bytes_received_ = 0;
};

ngtcp2_tstamp timestamp();
