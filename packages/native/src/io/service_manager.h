#pragma once

#include <string_view>

namespace sheaf::io {

// Sends a message to the service manager that started this process, at its datagram socket: a path,
// or with `@` in front a name in the abstract namespace (unix(7)). Never waits, so a manager that
// does not read costs a message and no time. Returns 0, or the error's number: EAGAIN when the
// manager has not read the messages before.
int notify_service_manager(std::string_view socket_name, std::string_view message);

}  // namespace sheaf::io
