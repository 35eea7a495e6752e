#pragma once

#include "connection/path_rules.h"

namespace sheaf::quic {

// docs/internals/multi-end.md: frames that client and primary exchange about backends.
inline constexpr FrameSet k_backend_frames =
    FrameSet::of<BackendOfferFrame, BackendWithdrawFrame, BackendAbandonFrame>();

// Paths between client and primary.
inline constexpr PathRules k_primary_path_rules{.judged = k_backend_frames,
                                                .for_policy = k_backend_frames};

// Paths between client and backend: a backend speaks of its own path and of its streams.
inline constexpr PathRules k_backend_path_rules{
    .apart = true,
    .judged = FrameSet::all(),
    .admitted =
        FrameSet::of<PaddingFrame, PingFrame, ResetStreamFrame, StreamFrame, StopSendingFrame,
                     MaxStreamDataFrame, DataBlockedFrame, StreamDataBlockedFrame,
                     PathChallengeFrame, PathResponseFrame, ConnectionCloseFrame, PathAckFrame,
                     PathAbandonFrame, PathStatusFrame, PathNewConnectionIdFrame,
                     PathRetireConnectionIdFrame, PathCidsBlockedFrame, BackendAbandonFrame>(),
    .for_policy = FrameSet::of<DataBlockedFrame, BackendAbandonFrame>()};

}  // namespace sheaf::quic
