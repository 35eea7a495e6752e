#pragma once

#include "connection/path_rules.h"

namespace sheaf::quic {

// Frames that client and primary exchange about backends (docs/internals/multi-end.md).
inline constexpr FrameSet k_backend_frames =
    FrameSet::of<BackendOfferFrame, BackendWithdrawFrame, BackendAbandonFrame>();

// Rules of paths between client and primary.
inline constexpr PathRules k_primary_path_rules{.judged = k_backend_frames,
                                                .for_policy = k_backend_frames};

// Rules of paths between client and backend. A backend sends frames only about its own path and its
// streams.
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
