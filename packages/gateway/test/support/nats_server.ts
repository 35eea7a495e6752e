import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from './temporary_directory.js';

/** Debian puts servers where users do not look for programs. */
const environment = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` };

export interface NatsServerOptions {
  port: number;
  store: string;
  /** Name in a cluster, with the ports of all members of which the own one is first */
  cluster?: { name: string; ports: readonly number[] };
  /** Further arguments of the program */
  more?: readonly string[];
}

/** A process of nats-server that ends with the test */
export class NatsServer {
  readonly #options: NatsServerOptions;
  #process!: ChildProcess;

  constructor(options: NatsServerOptions) {
    this.#options = options;
    onTestFinished(() => this.kill());
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#options.port}`;
  }

  get name(): string | undefined {
    return this.#options.cluster?.name;
  }

  async start(): Promise<void> {
    const { port, store, cluster, more = [] } = this.#options;
    const own = cluster?.ports[0];
    const clustered = cluster
      ? [
          ...['-n', cluster.name, '--cluster_name', 'test', '--cluster', `nats://127.0.0.1:${own}`],
          ...['--routes', cluster.ports.map((each) => `nats-route://127.0.0.1:${each}`).join(',')],
        ]
      : [];
    const listening = ['-js', '-a', '127.0.0.1', '-p', String(port), '-sd', store];
    this.#process = spawn('nats-server', [...listening, ...clustered, ...more], { env: environment, stdio: 'ignore' });
    await once(this.#process, 'spawn');
    while (!(await accepts(port))) {
      if (this.#process.exitCode !== null) throw new Error('nats-server ended at once');
      await sleep(20);
    }
  }

  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  /** Makes the server silent, as if its network were cut. */
  stop(): void {
    this.#process.kill('SIGSTOP');
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }
}

/** A server alone */
export async function startNats(more: readonly string[] = []): Promise<NatsServer> {
  const server = new NatsServer({ port: await freePort(), store: await temporaryDirectory(), more });
  await server.start();
  return server;
}

/** Three servers that keep every value together */
export async function startCluster(): Promise<NatsServer[]> {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const servers = await Promise.all(
    ports.map(async (own, index) => {
      const cluster = { name: `n${index}`, ports: [own, ...ports.filter((port) => port !== own)] };
      return new NatsServer({ port: await freePort(), store: await temporaryDirectory(), cluster });
    }),
  );
  await Promise.all(servers.map((server) => server.start()));
  return servers;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
