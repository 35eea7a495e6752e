import type { FileHandle } from 'node:fs/promises';
import {
  encodeHead,
  framedHeadSize,
  type Executor,
  type FilePayload,
  type ServerRequest,
  type ServerResponse,
} from '@sheaf/native';
import type { Logger } from 'pino';
import { headerValue } from '../../http/exchange.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import {
  acceptedHeader,
  decodeGrantHeader,
  encodeAcceptedHeader,
  grantHeader,
  isHead,
} from '../protocol/return_headers.js';
import { GrantRefused, type GrantOpener } from '../protocol/sealed_grant.js';

/** What one gateway lets this backend send */
export interface Session {
  executor: Executor;
  /** Opens grants; undefined until the gateway has told its key */
  opener: GrantOpener | undefined;
}

interface FileTaker {
  takeFile(file: FileHandle, range: { start: number; end: number }): Promise<boolean>;
}

/** Answers requests with a grant from the gateway's address, where the response is a file. */
export class ReturnedFiles {
  readonly #log: Logger;
  /** Number of responses since the start */
  accepted = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Lets the response to this request take a file, if the request brings a grant. Others stay as they are. */
  prepare(request: ServerRequest, response: ServerResponse, sessions: readonly Session[]): void {
    const header = headerValue(request.headers, grantHeader);
    const sealed = header === undefined ? undefined : decodeGrantHeader(header);
    if (!sealed || sessions.length === 0) return;
    const taker: FileTaker = {
      takeFile: async (file, { start, end }) => {
        const body = { descriptor: file.fd, position: start, length: end - start };
        const taken = this.#take(response, body, (use) => useGrant(sealed, sessions, use));
        if (taken) await file.close();
        return taken;
      },
    };
    Object.assign(response, taker);
  }

  #take(response: ServerResponse, body: FilePart, use: UseGrant): boolean {
    const head = encodeHead(response.statusCode, headersOf(response));
    if (!head || !isHead(head) || body.length === 0) return false;
    const payload = { start: framedHeadSize(head.length, body.length), ...body };
    try {
      use((executor, grant) => executor.accept(grant, payload));
    } catch (error) {
      if (!(error instanceof GrantRefused) && systemErrorCode(error) !== 'GRANT_REFUSED') throw error;
      this.#log.warn({ reason: errorMessage(error) }, 'a grant is refused');
      return false;
    }
    const { length } = body;
    const value = encodeAcceptedHeader({ status: response.statusCode, length, tag: strongTag(response) });
    for (const name of namesOf(response)) response.removeHeader(name);
    response.statusCode = 200;
    response.setHeader(acceptedHeader, value);
    response.setHeader('content-length', head.length);
    response.end(head);
    this.accepted += 1;
    return true;
  }
}

type FilePart = Omit<FilePayload, 'start'>;
type Use = (executor: Executor, grant: Buffer) => void;
type UseGrant = (use: Use) => void;

/**
 * Opens a grant and uses it. While a gateway is replaced there are sessions with the old and the new one; the grant is of the
 * one whose key opens it. @throws GrantRefused
 */
function useGrant(sealed: Buffer, sessions: readonly Session[], use: Use): void {
  for (const { executor, opener } of sessions) {
    let grant: Buffer | undefined;
    try {
      grant = opener?.open(sealed);
    } catch (error) {
      if (!(error instanceof GrantRefused) || error.refusal !== 'unreadable') throw error;
    }
    if (!grant) continue;
    use(executor, grant);
    return;
  }
  throw new GrantRefused('unreadable');
}

type WithHeaders = ServerResponse & { getHeaders(): Record<string, string | string[]> };
const headersOf = (response: ServerResponse): Record<string, string | string[]> =>
  (response as WithHeaders).getHeaders();
const namesOf = (response: ServerResponse): string[] => Object.keys(headersOf(response));

/** Returns the entity tag if it identifies the bytes (RFC 9110 §8.8.1) and the header can carry it. */
function strongTag(response: ServerResponse): string | undefined {
  const tag = response.getHeader('etag');
  return typeof tag === 'string' && /^"[\x21\x23-\x7e]*"$/.test(tag) ? tag : undefined;
}
