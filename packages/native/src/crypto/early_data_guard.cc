#include "crypto/early_data_guard.h"

#include <algorithm>

namespace sheaf::quic {

int EarlyDataGuard::begin() {
  // GnuTLS refuses tickets from before the recording, and the tickets of now will be dated back.
  begun_at_ = tls_clock_now() - k_ticket_age_tolerance;
  return renew();
}

EarlyDataGuard::Recording EarlyDataGuard::recording() {
  const auto age = tls_clock_now() - renewed_at_;
  // If there is no memory for another recording, the last one continues to serve.
  if (begun() && renews_ && (age >= k_renewal || age < Duration::zero())) renew();
  return recording_;
}

int EarlyDataGuard::renew() {
  const auto now = tls_clock_now();
  const TlsClockShift dated_back(std::max(begun_at_, now - k_reach) - now);
  gnutls_anti_replay_t made = nullptr;
  const int result = gnutls_anti_replay_init(&made);
  if (result < 0) return result;
  gnutls_anti_replay_set_window(made, ReplayRecord::k_period.count());
  gnutls_anti_replay_set_ptr(made, this);
  gnutls_anti_replay_set_add_function(made, add);
  recording_.reset(made, gnutls_anti_replay_deinit);
  renewed_at_ = now;
  return 0;
}

int EarlyDataGuard::add(void* guard, time_t, const gnutls_datum_t* key, const gnutls_datum_t*) {
  EarlyDataGuard& self = *static_cast<EarlyDataGuard*>(guard);
  if (self.refused_) return GNUTLS_E_DB_ENTRY_EXISTS;
  const bool first = self.record_->add({key->data, key->size}, tls_clock_now(), self.network_);
  return first ? 0 : GNUTLS_E_DB_ENTRY_EXISTS;
}

}  // namespace sheaf::quic
