import { formatAddress, type ListenAddress } from '@sheaf/gateway';

export interface LiveConfiguration {
  /** Ports of the edge, for viewers */
  port: number;
  httpPort: number;
  adminPort: number;
  /** Port of the edge that nobody watches: repairs for the group begin with a second receiver */
  otherPort: number;
  /** Ports of the gateway, for the publisher */
  gatewayPort: number;
  gatewayHttpPort: number;
  group: ListenAddress;
  source: string;
  /** Where packets to the group go: the tree of the demo */
  relay: ListenAddress;
  /** Origin of the server that cuts the tree and mends it */
  control: string;
  /** Directory of the pages */
  site: string;
}

/**
 * Returns the configuration file for `sheaf demo --site live`. It turns the page loader of the edge off: the pages have
 * sessions of their own.
 */
export function liveConfiguration(options: LiveConfiguration): string {
  const { port, httpPort, adminPort, otherPort, gatewayPort, gatewayHttpPort, group, source, relay, control, site } =
    options;
  return `nodes:
  center:
    role: gateway
    listen: 127.0.0.1:${gatewayPort}
    http: 127.0.0.1:${gatewayHttpPort}
    channels:
      live: { group: "${formatAddress(group)}", source: ${source}, relay: "${formatAddress(relay)}", rate: 2500KB, deadline: 5s }
    routes:
      - { path: /live, media: { channel: live } }
      - { path: /live-channel, channel: live }
      - { path: /demo, upstream: ${JSON.stringify(control)} }
      - { path: /, files: ${JSON.stringify(site)} }
    log: { file: center.log }
  classroom:
    role: edge
    listen: 127.0.0.1:${port}
    http: 127.0.0.1:${httpPort}
    admin: 127.0.0.1:${adminPort}
    gateway: center
    media: [{ path: /live, channel: /live-channel }]
    page_loader: off
    log: { file: classroom.log }
  library:
    role: edge
    listen: 127.0.0.1:${otherPort}
    gateway: center
    media: [{ path: /live, channel: /live-channel }]
    log: { file: library.log }
`;
}
