#pragma once

#include <array>
#include <list>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "connection/transmit.h"
#include "crypto/packet_protection.h"
#include "crypto/server_secret.h"
#include "machines/contact.h"
#include "util/random.h"
#include "util/token_bucket.h"

namespace sheaf::machines {

// Datagrams that one machine of a fleet passes on to another: sealed with AES-128-GCM by keys that
// follow from a secret of the fleet, from the receiver's server id, and from a salt of the sender
// (docs/reference/wire.md#forwarded-datagrams). In front of the client's datagram stand its address
// and its ECN mark. A sealed datagram that is repeated is a repeated datagram of the client, which
// QUIC bears. Queries are sealed in the same way, and hold a nonce. One that is repeated opens
// nothing: it would cost a response each time.
inline constexpr std::size_t k_salt_length = 16;
// How much longer than the client's datagram the sealed one may be
inline constexpr std::size_t k_forward_overhead =
    1 + 1 + k_salt_length + 8 + 19 + quic::k_aead_tag_length;
inline constexpr std::size_t k_query_length =
    1 + 1 + k_salt_length + 8 + sizeof(Nonce) + quic::k_aead_tag_length;

// A response is the nonce in the clear: only who could open the query knows it. It is shorter than
// the query, so nobody can make a machine amplify what it gets.
inline constexpr std::size_t k_answer_length = 1 + sizeof(Nonce);
std::array<std::uint8_t, k_answer_length> write_answer(const Nonce& nonce);
// Returns nothing for bytes that are no answer.
std::optional<Nonce> read_answer(quic::Bytes datagram);

// Seals datagrams for one other machine.
class ForwardSealer {
 public:
  // Nobody else has the salt, which `random` makes.
  ForwardSealer(const quic::ServerSecret& secret, quic::Bytes receiver, quic::Random& random);

  // Writes the sealed datagram. `out` has room for k_forward_overhead bytes more than the payload.
  // Returns its size.
  std::size_t seal(const quic::Datagram& datagram, quic::MutableBytes out);
  // As `seal`, for a query. `out` has room for k_query_length bytes.
  std::size_t seal_query(const Nonce& nonce, quic::MutableBytes out);

 private:
  void begin(quic::Writer& writer, std::uint8_t format);
  std::size_t finish(const quic::Writer& writer, quic::MutableBytes out);

  std::uint8_t secret_number_;
  std::array<std::uint8_t, k_salt_length> salt_{};
  std::unique_ptr<quic::Aead> aead_;
  std::uint64_t counter_ = 0;
};

// Opens datagrams that other machines have sealed for this one.
class ForwardOpener {
 public:
  // What a machine of the fleet sent: a datagram of a client, without its local address, or a query
  using Opened = std::variant<quic::Datagram, Nonce>;
  // Senders whose keys are kept at one time. Each of the other machines sends queries all the time.
  static constexpr std::size_t k_max_senders = 256;

  ForwardOpener(quic::ServerSecrets secrets, std::vector<std::uint8_t> receiver);

  // Opens a datagram in place. Returns nothing for bytes that no machine of the fleet has sealed
  // for this one.
  std::optional<Opened> open(quic::MutableBytes sealed, quic::Time now);

 private:
  struct Sender {
    std::uint8_t secret_number = 0;
    std::array<std::uint8_t, k_salt_length> salt{};
    std::unique_ptr<quic::Aead> aead;
    quic::PacketNumber next_query = 0;  // queries before this one were there
  };
  // A key for each salt that anybody makes up would cost an HKDF and a place. Those that opened a
  // datagram are kept before others.
  static constexpr double k_new_salts = 100;  // per second

  std::unique_ptr<quic::Aead> make_key(std::uint8_t secret_number, quic::Bytes salt) const;
  static std::optional<Opened> open_with(Sender& sender, quic::MutableBytes sealed,
                                         quic::PacketNumber counter);

  quic::ServerSecrets secrets_;
  std::vector<std::uint8_t> receiver_;
  std::list<Sender> senders_;  // the one used last comes first
  quic::TokenBucket new_salts_{k_new_salts, k_new_salts};
};

}  // namespace sheaf::machines
