#pragma once

#include <napi.h>

#include "endpoint/connection_driver.h"

namespace sheaf::binding {

// Returns the `BackendStatus[]` of lib/multi_end_types.ts.
Napi::Array backends_array(Napi::Env env, const quic::ConnectionDriver& driver);

}  // namespace sheaf::binding
