#pragma once

#include <string_view>

namespace sheaf::io {

// Sends a message to the service manager that started this process, at its datagram socket: a path,
// or with `@` in front a name in the abstract namespace (unix(7)). Never waits, so a manager that
// does not read costs a message and no time. Returns 0, or the error's number: EAGAIN when the
// manager has not read the messages before.
int notify_service_manager(std::string_view socket_name, std::string_view message);

// As above, with a descriptor, which the manager gets a copy of; -1 sends none. Waits up to
// `wait_ms` milliseconds for room.
int pass_to_service_manager(std::string_view socket_name, std::string_view message, int descriptor,
                            int wait_ms);

// Waits until the manager has acted on all messages before, at most `wait_ms` milliseconds
// (sd_notify_barrier(3)). Returns 0, or the error's number: ETIMEDOUT when the time is over.
int await_service_manager(std::string_view socket_name, int wait_ms);

}  // namespace sheaf::io
