#pragma once

#include <cstdint>

namespace sheaf::binding {

// First element of every event that JavaScript receives. `EventKind` in lib/addon.ts has the same
// numbers.
enum class EventKind : std::uint32_t {
  kEstablished = 0,
  kConnectionClosed = 1,
  kSettings = 2,
  kRequest = 3,
  kResponse = 4,
  kTrailers = 5,
  kBodyReadable = 6,
  kMessageFinished = 7,
  kBodyWritable = 8,
  kStreamReset = 9,
  kWritingStopped = 10,
  kStreamClosed = 11,
  kRequestsAvailable = 12,
  kGoAway = 13,
  kSessionTicket = 14,
  kReturnLost = 15,
  kReturnRoom = 16,
  kReturnOver = 17,
  kSessionReady = 20,
  kSessionRejected = 21,
  kSessionClosed = 22,
  kSessionDraining = 23,
  kSessionStream = 24,
  kSessionStreamReadable = 25,
  kSessionStreamWritable = 26,
  kSessionStreamReset = 27,
  kSessionStreamStopped = 28,
  kSessionStreamClosed = 29,
  kSessionDatagrams = 30,
  kSessionStreamsAvailable = 31,
  kSessionDatagramsWritable = 32,
  kPathsAvailable = 40,
  kPathOpened = 41,
  kPathValidated = 42,
  kPathMoved = 43,
  kPathStatus = 44,
  kPathAbandoned = 45,
  kMultiEndReady = 50,
  kBackendMessage = 51,
  kBackendPathAbandoned = 52,
  kPrimaryMessage = 53,
  kDrained = 54,
  kBackendOffered = 55,
  kBackendWithdrawn = 56,
  kPrimaryLost = 57,
  kChannelState = 60,
  kChannelGroup = 61,
  kChannelOver = 62,
  kTunnelOver = 70,
  kStreamTunnelBytes = 71,
  kStreamTunnelOver = 72,
  kTunnelPeer = 73,
};

}  // namespace sheaf::binding
