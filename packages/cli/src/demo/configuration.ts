export interface DemoConfiguration {
  port: number;
  httpPort: number;
  /** Origin of the server for uploads */
  uploads: string;
  /** Directory of the site */
  site: string;
  log: string;
}

/** Returns the configuration file for `sheaf demo`. JSON strings are valid YAML strings, whatever they contain. */
export function demoConfiguration({ port, httpPort, uploads, site, log }: DemoConfiguration): string {
  return `listen: 127.0.0.1:${port}
tls: dev
http: 127.0.0.1:${httpPort}
routes:
  - { path: /echo, webtransport: echo }
  - { path: /upload, upstream: ${JSON.stringify(uploads)} }
  - { path: /, files: ${JSON.stringify(site)} }
log: { file: ${JSON.stringify(log)} }
`;
}
