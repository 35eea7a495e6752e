import type { Logger } from 'pino';
import { errorMessage, systemErrorCode } from '../errors/user_error.js';
import type { Evidence, UpstreamMember } from './member.js';
import type { HealthOptions } from './options.js';

const connectTimeoutMs = 1_000;

/** Whether the member answers: by HTTP when a health check is configured, else by a connection alone. */
export async function probe(member: UpstreamMember, options: HealthOptions | undefined): Promise<Evidence> {
  return options ? probeHttp(member, options) : probeConnection(member);
}

/** What is wrong with the upstream's certificate, by the code of Node or OpenSSL. */
export function certificateFault(code: string): string | undefined {
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'its certificate is for another name';
    case 'CERT_HAS_EXPIRED':
      return 'its certificate has expired';
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'its certificate is from no authority that is trusted';
    default:
      return undefined;
  }
}

/** The cause of a failed attempt in a few words. */
export function failureReason(error: unknown): string {
  const code = systemErrorCode(error) ?? '';
  switch (code) {
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
      return error instanceof DOMException && error.name === 'TimeoutError' ? 'no answer in time' : (certificateFault(code) ?? errorMessage(error));
  }
}

async function probeHttp(member: UpstreamMember, options: HealthOptions): Promise<Evidence> {
  try {
    const response = await member.request({
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

function probeConnection({ url, connector }: UpstreamMember): Promise<Evidence> {
  const { protocol, port } = url;
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ up: false, reason: 'no connection in time' }), connectTimeoutMs);
    connector.connect({ hostname, protocol, port }, (error, socket) => {
      clearTimeout(timer);
      // What the upstream has to say about a connection without a request is no news.
      socket?.on('error', () => undefined).destroy();
      resolve(error ? { up: false, reason: failureReason(error) } : { up: true });
    });
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
