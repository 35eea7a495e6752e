#pragma once

namespace sheaf::quic {

// How far the handshake of a connection has come. It never goes back.
class HandshakeProgress {
 public:
  // Both sides' parameters and the 1-RTT keys are there.
  bool established() const { return established_; }
  void establish() { established_ = true; }
  // RFC 9001 §4.1.2.
  bool confirmed() const { return confirmed_; }
  void confirm() { confirmed_ = true; }

 private:
  bool established_ = false;
  bool confirmed_ = false;
};

}  // namespace sheaf::quic
