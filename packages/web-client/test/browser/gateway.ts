import { X509Certificate, createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamPriority } from '@sheaf/web-client/protocol';
import { freePort } from './free_port.js';
import { SheafProcess } from './sheaf_process.js';

/** A line of the gateway's access log. */
export interface LoggedRequest {
  readonly path: string;
  readonly status: number;
  readonly via?: string;
  readonly destination?: string;
  readonly priority: StreamPriority;
}

/** A gateway as `sheaf up` runs it: a process of its own that keeps its ports over restarts. */
export class GatewayProcess {
  private readonly process: SheafProcess;

  private constructor(
    private readonly directory: string,
    readonly port: number,
    readonly httpPort: number,
  ) {
    this.process = new SheafProcess(['up', 'sheaf.yaml'], directory);
  }

  /** Starts a gateway for the site, and for the server that takes uploads. */
  static start(site: string, uploads?: string): Promise<GatewayProcess> {
    return GatewayProcess.startWith([
      '{ path: /echo, webtransport: echo }',
      ...(uploads === undefined ? [] : [`{ path: /upload, upstream: "${uploads}" }`]),
      `{ path: /, files: ${JSON.stringify(site)} }`,
    ]);
  }

  /** Starts a gateway with these routes, each in YAML, and with further lines of the configuration. */
  static async startWith(routes: readonly string[], ...keys: readonly string[]): Promise<GatewayProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-browser-test-'));
    const gateway = new GatewayProcess(directory, await freePort(), await freePort());
    await gateway.configure(routes, ...keys);
    await gateway.run();
    return gateway;
  }

  /** Writes the configuration that the next start uses; `keys` are further lines of it. */
  async configure(routes: readonly string[], ...keys: readonly string[]): Promise<void> {
    const lines = [
      `listen: 127.0.0.1:${this.port}`,
      `http: 127.0.0.1:${this.httpPort}`,
      'tls: dev',
      'log: { file: gateway.log }',
      ...keys,
      'routes:',
      ...routes.map((route) => `  - ${route}`),
    ];
    await writeFile(join(this.directory, 'sheaf.yaml'), `${lines.join('\n')}\n`);
  }

  /** A secure context without TLS. */
  get httpUrl(): string {
    return `http://localhost:${this.httpPort}`;
  }

  get httpsUrl(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** SHA-256 of the certificate's public key, base64, as Chromium's switch wants it. */
  publicKeyHash(): Promise<string> {
    return publicKeyHash(this.directory);
  }

  /** Starts the process; returns once it says that it is ready. @throws Error with its output. */
  async run(): Promise<void> {
    await this.process.run();
  }

  /** Ends the process and waits until it has gone. Returns its exit code, null after SIGKILL. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    return this.process.stop(signal);
  }

  /** The requests that were answered so far. */
  async requests(): Promise<LoggedRequest[]> {
    const lines = (await readFile(join(this.directory, 'gateway.log'), 'utf8')).split('\n');
    return lines.filter((line) => line.includes('"msg":"request"')).map((line) => JSON.parse(line) as LoggedRequest);
  }

  /** The next start makes another certificate. */
  async forgetCertificate(): Promise<void> {
    await rm(join(this.directory, '.sheaf'), { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Returns the hash of the public key of the development certificate in this directory. */
export async function publicKeyHash(directory: string): Promise<string> {
  const pem = await readFile(join(directory, '.sheaf', 'dev-cert.pem'));
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64');
}
