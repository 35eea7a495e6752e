#pragma once

#include <gnutls/gnutls.h>

#include <memory>

#include "crypto/replay_record.h"
#include "crypto/tls_clock.h"

namespace sheaf::quic {

// Decides for a server which ClientHellos may bring 0-RTT (RFC 8446 §8).
class EarlyDataGuard {
 public:
  using Recording = std::shared_ptr<std::remove_pointer_t<gnutls_anti_replay_t>>;

  // `renews`: GnuTLS takes a recording for one that has begun long ago. Where its clock cannot be
  // shifted, each new one would refuse all tickets from before, so that the first one stays.
  explicit EarlyDataGuard(bool renews = tls_clock_can_shift()) : renews_(renews) {}
  // Shares the record with other guards from now on.
  void share(std::shared_ptr<ReplayRecord> record) { record_ = std::move(record); }
  EarlyDataGuard(const EarlyDataGuard&) = delete;
  EarlyDataGuard& operator=(const EarlyDataGuard&) = delete;

  // Allows 0-RTT from now on. Returns zero, or an error of GnuTLS.
  int begin();
  bool begun() const { return recording_ != nullptr; }
  // Returns the recording that GnuTLS uses in a handshake that begins now. It must live as long as
  // that handshake.
  Recording recording();

  // Sets the network of the next 0-RTT; empty when it is unknown and not bounded.
  void set_network(Bytes network) { network_.assign(network.begin(), network.end()); }
  // Refuses 0-RTT of the next ClientHello, or allows it again.
  void refuse(bool refused) { refused_ = refused; }

 private:
  // GnuTLS refuses tickets that are older than its recording, which it begins anew after a period.
  // Then all tickets that clients hold would be refused at once. Ours is renewed before that, as
  // one that began long ago, since the record of the last period is kept.
  static constexpr std::chrono::minutes k_renewal{5};
  static constexpr std::chrono::nanoseconds k_reach = ReplayRecord::k_period - 2 * k_renewal;
  static int add(void* guard, time_t expires, const gnutls_datum_t* key, const gnutls_datum_t*);
  int renew();

  bool renews_;
  std::shared_ptr<ReplayRecord> record_ = std::make_shared<ReplayRecord>();
  std::vector<std::uint8_t> network_;
  Recording recording_;
  std::chrono::nanoseconds begun_at_{};  // both by GnuTLS's clock
  std::chrono::nanoseconds renewed_at_{};
  bool refused_ = false;
};

}  // namespace sheaf::quic
