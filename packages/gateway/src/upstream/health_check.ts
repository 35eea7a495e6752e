import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Logger } from 'pino';
import type { UpstreamMember } from './member.js';
import type { HealthOptions } from './options.js';

const defaultTimeoutMs = 1_000;

/** Whether the member answers: by HTTP when a health check is configured, else by a connection alone. */
export async function probe(member: UpstreamMember, options: HealthOptions | undefined): Promise<boolean> {
  return options ? probeHttp(member, options) : probeConnection(new URL(member.origin));
}

async function probeHttp(member: UpstreamMember, options: HealthOptions): Promise<boolean> {
  try {
    const response = await member.pool.request({
      method: 'GET',
      path: options.path,
      headers: { 'user-agent': 'sheaf-health-check' },
      signal: AbortSignal.timeout(options.timeout),
    });
    await response.body.dump();
    return response.statusCode < 400;
  } catch {
    return false;
  }
}

function probeConnection(origin: URL): Promise<boolean> {
  const tls = origin.protocol === 'https:';
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const port = Number(origin.port) || (tls ? 443 : 80);
  return new Promise((resolve) => {
    const socket = tls ? connectTls({ host, port, servername: host }) : connect({ host, port });
    const settle = (up: boolean): void => {
      socket.destroy();
      resolve(up);
    };
    socket.setTimeout(defaultTimeoutMs, () => settle(false));
    socket.once(tls ? 'secureConnect' : 'connect', () => settle(true)).once('error', () => settle(false));
  });
}

/** Repeats the configured check of every member until it is stopped. */
export class HealthCheck {
  readonly #timer: NodeJS.Timeout;

  constructor(members: readonly UpstreamMember[], options: HealthOptions, log: Logger) {
    const check = async (member: UpstreamMember): Promise<void> => {
      const healthy = await probe(member, options);
      if (!member.checked(healthy)) return;
      if (healthy) log.info({ upstream: member.origin }, 'upstream is up again');
      else log.warn({ upstream: member.origin }, 'upstream is down');
    };
    this.#timer = setInterval(() => members.forEach((member) => void check(member)), options.interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
