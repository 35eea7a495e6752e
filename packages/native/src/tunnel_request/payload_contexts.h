#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::tunnel_request {

using quic::Bytes;
using quic::Ecn;

// The contexts of a request in which UDP payloads travel. Each tells a mark, and takes no more
// bytes than context 0 (draft-ietf-masque-connect-udp-ecn-dscp-02 §3). Where the sides did not
// agree on it, there is context 0 alone, and packets carry no mark (RFC 9298 §4).
class PayloadContexts {
 public:
  // Numbers are in lib/payload_contexts.ts.
  enum class Side : std::uint8_t { kNone, kProxy, kClient };

  PayloadContexts() = default;
  // `of_peer`: ids that the peer has registered, each in four for the marks in the order of `Ecn`.
  // Sets differ by DSCP (§4.1), which ends here: both sides of a tunnel use their own (§5.2).
  PayloadContexts(Side own, std::vector<std::uint64_t> of_peer)
      : own_(own), of_peer_(std::move(of_peer)) {}

  bool carry_marks() const { return own_ != Side::kNone; }
  // Returns the context id of a payload that is sent. Each side uses its own ones: an id of the
  // client is for packets to the proxy (§4.2).
  Bytes id_for(Ecn ecn) const;
  // Returns the mark that a context tells; nothing for one that nobody registered.
  std::optional<Ecn> ecn_of(std::uint64_t context) const;

 private:
  Side own_ = Side::kNone;
  std::vector<std::uint64_t> of_peer_;
};

// Returns the mark of a packet that leaves the tunnel (RFC 6040 §4.2,
// draft-ietf-masque-connect-udp-ecn-dscp-02 §6.3). A mark of congestion outside passes to a packet
// whose sender hears marks. Another one goes on as it came. Plain tunnels of IP drop it, since the
// mark is all that tells of the congestion. Here the connection outside has heard the mark, too,
// and sends less (RFC 9000 §13.4.1), so the loss would tell of it twice (§5.3 of the draft). ECT(0)
// and ECT(1) outside are the choice of that connection, and say nothing about the packet.
inline Ecn decapsulated(Ecn inner, Ecn outer) {
  return outer == Ecn::kCe && inner != Ecn::kNotEct ? Ecn::kCe : inner;
}

}  // namespace sheaf::tunnel_request
