import { spawn, type ChildProcess } from 'node:child_process';
import { X509Certificate, createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../../cli/bin/sheaf.js', import.meta.url));

/** A gateway as `sheaf up` runs it: a process of its own that keeps its ports over restarts. */
export class GatewayProcess {
  private process: ChildProcess | undefined;
  private output = '';

  private constructor(
    private readonly directory: string,
    readonly port: number,
    readonly httpPort: number,
  ) {}

  /** Writes a configuration for the site and starts the gateway. */
  static async start(site: string, uploads: string): Promise<GatewayProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-browser-test-'));
    const gateway = new GatewayProcess(directory, await freePort(), await freePort());
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `listen: 127.0.0.1:${gateway.port}
http: 127.0.0.1:${gateway.httpPort}
tls: dev
routes:
  - { path: /echo, webtransport: echo }
  - { path: /upload, upstream: "${uploads}" }
  - { path: /, files: ${JSON.stringify(site)} }
`,
    );
    await gateway.run();
    return gateway;
  }

  /** A secure context without TLS. */
  get httpUrl(): string {
    return `http://localhost:${this.httpPort}`;
  }

  get httpsUrl(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** SHA-256 of the certificate's public key, base64, as Chromium's switch wants it. */
  async publicKeyHash(): Promise<string> {
    const pem = await readFile(join(this.directory, '.sheaf', 'dev-cert.pem'));
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    return createHash('sha256').update(key).digest('base64');
  }

  /** Starts the process; returns once it says that it is ready. @throws Error with its output. */
  async run(): Promise<void> {
    this.output = '';
    const child = spawn(process.execPath, [COMMAND, 'up', 'sheaf.yaml'], {
      cwd: this.directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process = child;
    child.once('exit', (code, signal) => this.keep(`the gateway ended with ${signal ?? code}\n`));
    child.stderr.on('data', (data: Buffer) => this.keep(data.toString()));
    const lines = createInterface({ input: child.stdout });
    const ready = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        this.keep(`${line}\n`);
        if (/\bready\b/.test(line)) resolve();
      });
    });
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the gateway ended before it was ready:\n${this.output}`);
    });
    await Promise.race([ready, ended]);
  }

  /** Ends the process and waits until it has gone. Returns its exit code, null after SIGKILL. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    const child = this.process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  /** The next start makes another certificate. */
  async forgetCertificate(): Promise<void> {
    await rm(join(this.directory, '.sheaf'), { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  // Access logs of a long test are of no use; the end says what went wrong.
  private keep(text: string): void {
    this.output = (this.output + text).slice(-20_000);
  }
}

/** A port that is free for UDP and TCP. */
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = createSocket('udp4');
    const free = await new Promise<boolean>((resolve) => {
      socket.once('error', () => resolve(false));
      socket.bind(port, '127.0.0.1', () => resolve(true));
    });
    socket.close();
    server.close();
    await once(server, 'close');
    if (free) return port;
  }
}
