#pragma once

#include "steering/steering.h"

namespace sheaf::io {

// Lets the kernel give each datagram to the socket of the worker that its connection id leads to.
// `descriptor` is any of the sockets of one address, which were bound in the order of their workers
// and share it (SO_REUSEPORT). A classic BPF program needs no privilege. Datagrams whose id is too
// short go by addresses. Returns false when the system refuses the program.
bool attach_steering(int descriptor, const quic::Steering& steering);

}  // namespace sheaf::io
