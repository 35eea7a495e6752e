export * from './client.js';
export { configurationSchema, type NodeConfiguration } from './schema/node.js';
export {
  configurationWarnings,
  loadConfiguration,
  parseConfiguration,
  readConfiguration,
} from './configuration/load.js';
export { optionName } from './configuration/issues.js';
export { filesOfNode, moveFiles, type NodeFile, type NodeFileKind } from './configuration/node_files.js';
export { onlyGateway, type LoadedConfiguration, type LoadedNode } from './schema/loaded.js';
export { balancerKey, formatSecrets, readSecrets, renewSecrets } from './tls/server_secrets.js';
export { createNodeKey, nodeKeyFile, NodePublicKey, readNodeKey } from './values/node_key.js';
export { replaceFile } from './values/replace_file.js';
export { closest } from './values/known_keys.js';
export { eachAddress, isLoopback, isWildcard, listenAddress, type ListenAddress } from './values/scalars.js';
export { Edge } from './nodes/edge/edge.js';
export { BackendClient } from './multi_end/client/backend_client.js';
export { Backend } from './nodes/backend.js';
export type { BackendReport, LinkStatus } from './observability/backend_report.js';
export { remediesFor } from './http/fallback_reasons.js';
export { alertFile } from './dashboard/alerts.js';
export { grafanaDashboard } from './dashboard/grafana.js';
export { adminHeader } from './observability/admin_server.js';
export { Gateway } from './nodes/gateway.js';
export { FrontNode } from './nodes/front/front_node.js';
export type { RunningNode } from './nodes/life/running_node.js';
export { TunnelNode } from './nodes/tunnel/tunnel_node.js';
export { closeNodes, startNodes } from './nodes/start_nodes.js';
export {
  describeChange,
  RunningConfiguration,
  type RunningConfigurationOptions,
} from './nodes/reload/running_configuration.js';
export type { ConfigurationStatus, ReloadOutcome } from './observability/configuration_report.js';
export type { UpgradeOutcome } from './observability/upgrade_report.js';
export { listeningPlaces } from './schema/listening.js';
export { passedSockets } from './upgrade/passed_sockets.js';
export { openedName } from './upgrade/socket_names.js';
export { SocketStore } from './upgrade/socket_store.js';
export { Succession } from './upgrade/succession.js';
export { publishDocument, publishSecrets } from './nodes/fleet/publish.js';
export type { FleetNodeReport, RegistryStatus } from './observability/registry_report.js';
export type { FleetNode, FleetNodeState, FleetView } from './registry/fleet_view.js';
export { FileState } from './tls/file_state.js';
export { watchFile } from './nodes/reload/watch_file.js';
export type { Published } from './channels/publication.js';
export { browserUrl } from './values/browser_url.js';
export { formatAddress, listenError } from './values/listen_error.js';
export { certificateNames } from './configuration/certificate_names.js';
export type {
  ChannelStatus,
  EdgeMediaStatus,
  EdgeStatus,
  ForwardingStatus,
  FrontNodeStatus,
  BackendNodeStatus,
  GatewayLinkStatus,
  GatewayStatus,
  NodeStatus,
  RouteStatus,
  GatewayBackend,
  ReturnStatus,
  TcpTunnelStatus,
  TunnelListenerStatus,
  TunnelNodeStatus,
  TunnelStatus,
} from './observability/status.js';
export { certificateExpiry, certificateHash } from './tls/certificate_files.js';
export { devCertificateFiles, loadDevCertificate } from './tls/dev_certificate.js';
export type {
  WebTransportApplication,
  WebTransportBidirectionalStream,
  WebTransportCloseInfo,
  WebTransportContext,
  WebTransportSession,
} from './targets/webtransport/session.js';
