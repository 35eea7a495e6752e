#pragma once

#include <optional>

#include "io/socket_calls.h"
#include "util/result.h"

namespace sheaf::io {

// A group of one source (RFC 4607), and the interface where it is heard
struct GroupMembership {
  quic::Address source;
  quic::Address group;
  unsigned interface = 0;  // index

  bool operator==(const GroupMembership&) const = default;
};

// Joins a group with a socket that is bound to its address. The kernel then drops what other
// sources send to the group. The end of the socket leaves it, too.
quic::Status<SocketError> join_group(int descriptor, const GroupMembership& membership);
quic::Status<SocketError> leave_group(int descriptor, const GroupMembership& membership);

// How a socket sends to groups
struct GroupSending {
  unsigned interface = 0;  // index
  // Routers that packets may pass, plus one. The kernel's own value of 1 keeps them on the link.
  int hops = 1;
};
quic::Status<SocketError> prepare_group_sending(int descriptor, const quic::Address& group,
                                                const GroupSending& sending);

// Returns the index of an interface of this host by its name, such as "eth0".
std::optional<unsigned> interface_named(const std::string& name);
// Returns the index of the interface that has an address of this host.
std::optional<unsigned> interface_with(const quic::Address& local);
// Returns the index of the interface through which packets to `remote` leave. A group of a source
// is heard there, unless routes differ in both directions.
std::optional<unsigned> interface_towards(const quic::Address& remote);

}  // namespace sheaf::io
