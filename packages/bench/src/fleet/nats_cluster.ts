import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { ChildProgram } from './child_program.js';
import { freePorts } from './free_ports.js';

/** Debian puts servers where users do not look for programs. */
const usualPlaces = ['nats-server', '/usr/sbin/nats-server'];
/** Milliseconds for a server to start, or for a cluster to elect */
const patienceMs = 60_000;

interface Ports {
  client: number;
  cluster: number;
  monitoring: number;
}

/** The part of `/jsz` that says who leads a stream */
const streams = z.object({
  account_details: z
    .array(
      z.object({
        stream_detail: z
          .array(z.object({ name: z.string(), cluster: z.object({ leader: z.string().optional() }).optional() }))
          .optional(),
      }),
    )
    .optional(),
});

/** Returns the program of NATS. @throws UserError BENCH_UNAVAILABLE with the command that installs it */
export function natsProgram(places: readonly string[] = usualPlaces): string {
  const found = places.find((place) => spawnSync(place, ['--version'], { stdio: 'ignore' }).status === 0);
  if (found !== undefined) return found;
  throw new UserError('BENCH_UNAVAILABLE', 'nats-server is not installed, which keeps the registry', {
    hint: 'install it: `apt-get install nats-server`',
  });
}

/** One server of the cluster */
export class NatsServer extends ChildProgram {
  constructor(
    readonly number: number,
    readonly ports: Ports,
    words: readonly string[],
  ) {
    super(`n${number}`, words);
  }

  get url(): string {
    return `nats://127.0.0.1:${this.ports.client}`;
  }

  async answers(): Promise<boolean> {
    return (await this.#ask('/healthz')) !== undefined;
  }

  /** Returns the name of the server that leads a stream, as this one knows it. */
  async leaderOf(stream: string): Promise<string | undefined> {
    const { success, data } = streams.safeParse(await this.#ask('/jsz?accounts=true&streams=true'));
    if (!success) return undefined;
    const all = data.account_details?.flatMap(({ stream_detail: detail }) => detail ?? []);
    return all?.find(({ name }) => name === stream)?.cluster?.leader;
  }

  async #ask(path: string): Promise<unknown> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.ports.monitoring}${path}`, {
        signal: AbortSignal.timeout(2_000),
      });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Three servers that keep every value together */
export class NatsCluster {
  private constructor(readonly servers: readonly NatsServer[]) {}

  static async start(directory: string): Promise<NatsCluster> {
    const program = natsProgram();
    const numbers = [0, 1, 2];
    const ports = await freePorts(numbers.length * 3);
    const take = (): number => ports.pop() ?? 0;
    const all = numbers.map((): Ports => ({ client: take(), cluster: take(), monitoring: take() }));
    const routes = all.map(({ cluster }) => `nats-route://127.0.0.1:${cluster}`).join(',');
    const servers = all.map(
      (own, number) =>
        new NatsServer(number, own, [
          ...[program, '-js', '-a', '127.0.0.1', '-p', String(own.client), '-m', String(own.monitoring)],
          ...['-sd', join(directory, `n${number}`), '-n', `n${number}`, '--cluster_name', 'fleet'],
          ...['--cluster', `nats://127.0.0.1:${own.cluster}`, '--routes', routes],
        ]),
    );
    const cluster = new NatsCluster(servers);
    await mkdir(directory, { recursive: true });
    try {
      for (const server of servers) server.start();
      await cluster.untilAnswering();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Waits until each server takes part. @throws UserError */
  async untilAnswering(): Promise<void> {
    await until('nats-server', async () => {
      const answers = await Promise.all(this.servers.map((server) => server.answers()));
      return answers.every((answer) => answer);
    });
  }

  /** Returns the server that leads the stream of a bucket. @throws UserError when none does for a minute */
  async leader(bucket: string): Promise<NatsServer> {
    let leader: NatsServer | undefined;
    await until(`the stream of ${bucket}`, async () => {
      for (const server of this.servers) {
        const name = await server.leaderOf(`KV_${bucket}`);
        leader = this.servers.find((each) => each.name === name);
        if (leader) break;
      }
      return leader !== undefined;
    });
    return leader!;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
  }
}

async function until(what: string, reached: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await reached())) {
    if (performance.now() > end)
      throw new UserError('BENCH_FAILED', `${what} was not ready within ${patienceMs / 1_000} s`);
    await sleep(100);
  }
}
