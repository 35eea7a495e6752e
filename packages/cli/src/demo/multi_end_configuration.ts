import { formatAddress, type ListenAddress } from '@sheaf/gateway';

/** One backend of the demo, behind a link */
export interface BackendDescription {
  name: string;
  /** Number by which clients know the backend */
  number: number;
  listenPort: number;
  backbonePort: number;
  /** Address where clients reach the backend: the link in front of it */
  address: ListenAddress;
}

export interface MultiEndConfiguration {
  /** Port of the edge, for browsers */
  port: number;
  httpPort: number;
  /** Port of the gateway */
  gatewayPort: number;
  backbonePort: number;
  backends: readonly BackendDescription[];
  /** Origin of the server that stops and starts backends */
  control: string;
  /** Directory with `site` and `pieces` */
  files: string;
}

/** Configures the log of the node, in the directory of the configuration. */
const logOf = (name: string): string => `log: { file: ${name}.log }`;

/**
 * Returns the configuration file for `sheaf demo --site multi-end`. It turns the page loader off, since all requests of
 * the page loader would be answered by the gateway. JSON strings are valid YAML strings, whatever they contain.
 */
export function multiEndConfiguration({
  port,
  httpPort,
  gatewayPort,
  backbonePort,
  backends,
  control,
  files,
}: MultiEndConfiguration): string {
  const names = backends.map(({ name }) => name).join(', ');
  const references = backends.map(
    ({ name, number, address }) => `      - { name: ${name}, id: ${number}, address: "${formatAddress(address)}" }`,
  );
  const nodes = backends.map((backend) => backendNode(backend, files, gatewayPort));
  return `nodes:
  site:
    role: gateway
    listen: 127.0.0.1:${gatewayPort}
    admin: 127.0.0.1:0
    backbone: 127.0.0.1:${backbonePort}
    backends:
${references.join('\n')}
    routes:
      - { path: /pieces, backends: [${names}] }
      - { path: /proxied, backends: [${names}], delivery: proxy }
      - { path: /demo, upstream: ${JSON.stringify(control)} }
      - { path: /, files: ${JSON.stringify(`${files}/site`)} }
    ${logOf('site')}
${nodes.join('\n')}
  laptop:
    role: edge
    listen: 127.0.0.1:${port}
    http: 127.0.0.1:${httpPort}
    gateway: site
    paths: [{ local: 127.0.0.1 }]
    show_paths: true
    page_loader: off
    ${logOf('laptop')}
`;
}

function backendNode(
  { name, listenPort, backbonePort }: BackendDescription,
  files: string,
  gatewayPort: number,
): string {
  const pieces = JSON.stringify(`${files}/pieces`);
  return `  ${name}:
    role: backend
    listen: 127.0.0.1:${listenPort}
    backbone: 127.0.0.1:${backbonePort}
    primary: site
    return: { from: "127.0.0.1:${gatewayPort}", via: own-address }
    routes: [{ path: /pieces, files: ${pieces} }, { path: /proxied, files: ${pieces} }]
    ${logOf(name)}`;
}
