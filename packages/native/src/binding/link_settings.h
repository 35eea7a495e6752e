#pragma once

#include <napi.h>

#include <string>

#include "emulation/link_config.h"
#include "util/result.h"

namespace sheaf::binding {

// Reads the `NativeLinkOptions` of lib/addon.ts, where every default is filled in. The error is a
// sentence about the trace.
quic::Result<quic::LinkConfig, std::string> link_config(const Napi::Object& options);
// Returns the `LinkStats` of lib/link_relay.ts.
Napi::Object link_stats_object(Napi::Env env, const quic::LinkStats& stats);

}  // namespace sheaf::binding
