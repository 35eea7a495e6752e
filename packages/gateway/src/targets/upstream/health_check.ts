import { once } from 'node:events';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import type { Evidence, UpstreamMember } from './member.js';
import type { HealthOptions } from '../../schema/upstream.js';

const connectTimeoutMs = 1_000;
/** Time in milliseconds for a server to refuse a certificate. Servers that refuse do so at once. */
const verdictMs = 200;

/** Checks whether the member answers: by HTTP if a health check is configured, otherwise by a connection alone. */
export async function probe(member: UpstreamMember, options: HealthOptions | undefined): Promise<Evidence> {
  return options ? probeHttp(member, options) : probeConnection(member);
}

/** Explains the fault of a certificate, the upstream's or the gateway's, by the error code of Node or OpenSSL. */
export function tlsFault(code: string): string | undefined {
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
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
    case 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA':
      return 'it wants a certificate of the gateway that it knows';
    default:
      return undefined;
  }
}

/** Describes the cause of a failed attempt in a few words. */
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
      return 'no response in time';
    default:
      return error instanceof DOMException && error.name === 'TimeoutError'
        ? 'no response in time'
        : (tlsFault(code) ?? errorMessage(error));
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
    return response.statusCode < 400
      ? { up: true }
      : { up: false, reason: `${options.path} answered ${response.statusCode}` };
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
      if (!socket) return resolve({ up: false, reason: failureReason(error) });
      void accepted(socket)
        .then(resolve)
        .finally(() => socket.destroy());
      return undefined;
    });
  });
}

/**
 * Waits for the server's verdict on our certificate. The client finishes the handshake before the server has checked it
 * (RFC 8446 §4.4.2), so only the next message tells.
 */
async function accepted(socket: Socket): Promise<Evidence> {
  const signal = AbortSignal.timeout(verdictMs);
  const refused = new Promise<Evidence>((resolve) =>
    socket.on('error', (error) => resolve({ up: false, reason: failureReason(error) })),
  );
  if (!(socket instanceof TLSSocket) || socket.getProtocol() !== 'TLSv1.3') return { up: true };
  const ticket = once(socket, 'session', { signal }).then(
    (): Evidence => ({ up: true }),
    (error: unknown): Evidence => (signal.aborted ? { up: true } : { up: false, reason: failureReason(error) }),
  );
  return Promise.race([refused, ticket]);
}

/** Repeats the configured check of every member until it is stopped. */
export class HealthCheck {
  readonly #timer: NodeJS.Timeout;
  #stopped = false;

  constructor(members: readonly UpstreamMember[], options: HealthOptions, log: Logger) {
    const check = async (member: UpstreamMember): Promise<void> => {
      const evidence = await probe(member, options);
      // A check that its end has cut off tells nothing about the server.
      if (this.#stopped || !member.checked(evidence, Date.now())) return;
      if (evidence.up) log.info({ upstream: member.origin }, 'upstream is up again');
      else log.warn({ upstream: member.origin, reason: evidence.reason }, 'upstream is down');
    };
    this.#timer = setInterval(() => members.forEach((member) => void check(member)), options.interval).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }
}
