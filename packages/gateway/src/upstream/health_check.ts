import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Logger } from 'pino';
import { errorMessage, systemErrorCode } from '../errors/user_error.js';
import type { Evidence, UpstreamMember } from './member.js';
import type { HealthOptions } from './options.js';

const connectTimeoutMs = 1_000;

/** Whether the member answers: by HTTP when a health check is configured, else by a connection alone. */
export async function probe(member: UpstreamMember, options: HealthOptions | undefined): Promise<Evidence> {
  return options ? probeHttp(member, options) : probeConnection(new URL(member.origin));
}

/** The cause of a failed attempt in a few words. */
export function failureReason(error: unknown): string {
  switch (systemErrorCode(error)) {
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'ENOTFOUND':
      return 'its name is not known';
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return 'no connection in time';
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return 'no answer in time';
    default:
      return error instanceof DOMException && error.name === 'TimeoutError' ? 'no answer in time' : errorMessage(error);
  }
}

async function probeHttp(member: UpstreamMember, options: HealthOptions): Promise<Evidence> {
  try {
    const response = await member.pool.request({
      method: 'GET',
      path: options.path,
      headers: { 'user-agent': 'sheaf-health-check' },
      signal: AbortSignal.timeout(options.timeout),
    });
    await response.body.dump();
    return response.statusCode < 400 ? { up: true } : { up: false, reason: `${options.path} answered ${response.statusCode}` };
  } catch (error) {
    return { up: false, reason: failureReason(error) };
  }
}

function probeConnection(origin: URL): Promise<Evidence> {
  const tls = origin.protocol === 'https:';
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const port = Number(origin.port) || (tls ? 443 : 80);
  return new Promise((resolve) => {
    const socket = tls ? connectTls({ host, port, servername: host }) : connect({ host, port });
    const settle = (evidence: Evidence): void => {
      socket.destroy();
      resolve(evidence);
    };
    socket.setTimeout(connectTimeoutMs, () => settle({ up: false, reason: 'no connection in time' }));
    socket
      .once(tls ? 'secureConnect' : 'connect', () => settle({ up: true }))
      .once('error', (error) => settle({ up: false, reason: failureReason(error) }));
  });
}

/** Repeats the configured check of every member until it is stopped. */
export class HealthCheck {
  readonly #timer: NodeJS.Timeout;

  constructor(members: readonly UpstreamMember[], options: HealthOptions, log: Logger) {
    const check = async (member: UpstreamMember): Promise<void> => {
      const evidence = await probe(member, options);
      if (!member.checked(evidence, Date.now())) return;
      if (evidence.up) log.info({ upstream: member.origin }, 'upstream is up again');
      else log.warn({ upstream: member.origin, reason: evidence.reason }, 'upstream is down');
    };
    this.#timer = setInterval(() => members.forEach((member) => void check(member)), options.interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
