#pragma once

#include <vector>

#include "recovery/write_frame.h"

namespace sheaf::quic {

// Server: sends HANDSHAKE_DONE and NEW_TOKEN, until they arrive (RFC 9000 §13.3).
class HandshakeFrames {
 public:
  void send_done() { done_due_ = true; }
  void send_token(Bytes token) {
    token_.assign(token.begin(), token.end());
    token_due_ = true;
  }
  void on_done_lost() { done_due_ = true; }
  void on_token_lost() { token_due_ = true; }

  bool has_pending() const { return done_due_ || token_due_; }
  void write_done(Writer& writer, SentPackets& sent) {
    if (done_due_ && write_frame(writer, sent, HandshakeDoneFrame{},
                                 SentFrame::plain(SentFrame::Kind::kHandshakeDone))) {
      done_due_ = false;
    }
  }
  void write_token(Writer& writer, SentPackets& sent) {
    if (token_due_ && write_frame(writer, sent, NewTokenFrame{token_},
                                  SentFrame::plain(SentFrame::Kind::kNewToken))) {
      token_due_ = false;
    }
  }

 private:
  bool done_due_ = false;
  bool token_due_ = false;
  std::vector<std::uint8_t> token_;
};

}  // namespace sheaf::quic
