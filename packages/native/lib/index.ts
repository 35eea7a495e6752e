export type * from './types.js';
export * from './multi_end_types.js';
export { loadAddon } from './addon.js';
export { connectHttp3 } from './http3_client.js';
export { createHttp3Server } from './http3_server.js';
export {
  createLinkRelay,
  type LinkAddress,
  type LinkOptions,
  type LinkRelay,
  type LinkRelayOptions,
  type LinkRelayStats,
  type LinkStats,
} from './link_relay.js';
export {
  encodeHead,
  offerResponse,
  openExecutor,
  openReturnSocket,
  openRunOrders,
  offerDoubt,
  revokeOffer,
  sealGrants,
  type ExecutorOptions,
  type ReturnSocket,
  type ReturnSocketOptions,
  type ReturnWay,
} from './direct_return.js';
export type * from './direct_return_types.js';
export { openChannelSource, sharedChannel } from './channel_source.js';
export { frameHeader, readFrames } from './channel_frames.js';
export { tunnelContextsHeader, readTunnelContexts } from './payload_contexts.js';
export { openTunnel, tunnelFields, tunnelInfoHeader } from './tunnel.js';
export { tunnelDropReasons } from './tunnel_types.js';
export { watchChannel } from './watched_channel.js';
export {
  maxMachines,
  openMachineLink,
  type Machine,
  type MachineLink,
  type MachineLinkCounts,
  type MachineLinkOptions,
} from './machine_link.js';
export { openSharedCounts, type CountClaim, type SharedCounts } from './shared_counts.js';
export { QuicError } from './quic_error.js';
export { readCached } from './cached_file.js';
export { returnFreedMemory } from './freed_memory.js';
export {
  awaitServiceManager,
  notifyServiceManager,
  removeStoredDescriptor,
  storeDescriptor,
  type ServiceState,
} from './service_manager.js';
export { boundSocket, openBoundUdp, type BoundSocket, type BoundUdp } from './bound_socket.js';
export { duplicateDescriptor, openSharedTcp, type SharedTcp } from './tcp_listener.js';
export {
  createDatagramPair,
  maxWorkers,
  openWorkerGroup,
  type WorkerGroup,
  type WorkerGroupOptions,
} from './worker_group.js';
export type * from './worker_group_types.js';
export { isGone, limitUnsent } from './tcp_socket.js';
export { relayWebTransport } from './webtransport/session_relay.js';
