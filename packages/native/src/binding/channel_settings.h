#pragma once

#include <napi.h>

#include <string>

#include "channel_node/receiver_node.h"
#include "channel_node/source_node.h"
#include "util/result.h"

namespace sheaf::binding {

// Reads `NativeChannelSourceOptions` and `NativeWatchOptions` of lib/addon.ts. An error says what
// is wrong.
quic::Result<channel_node::SourceSettings, std::string> source_settings(
    const Napi::Object& options);
quic::Result<channel_node::ReceiverSettings, std::string> receiver_settings(
    const Napi::Object& options);

}  // namespace sheaf::binding
