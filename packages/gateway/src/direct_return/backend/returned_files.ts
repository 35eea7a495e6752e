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
import { resumptionOf } from '../../http/resumable_body.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import {
  acceptedHeader,
  declinedHeader,
  decodeGrantHeader,
  encodeAcceptedHeader,
  grantHeader,
  isHead,
  type DeclineReason,
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
    const decline = (reason: DeclineReason): false => {
      response.setHeader(declinedHeader, reason);
      return false;
    };
    const { statusCode: status } = response;
    const headers = headersOf(response);
    const accepted = describe(status, headers, body.length);
    const head = encodeHead(status, headers);
    if (!accepted || !head || !isHead(head)) return decline('unknown');
    try {
      use((executor, grant) => executor.accept(grant, { start: framedHeadSize(head.length, body.length), ...body }));
    } catch (error) {
      if (!(error instanceof GrantRefused) && systemErrorCode(error) !== 'GRANT_REFUSED') throw error;
      this.#log.warn({ reason: errorMessage(error) }, 'a grant is refused');
      return decline('refused');
    }
    for (const name of Object.keys(headers)) response.removeHeader(name);
    response.statusCode = 200;
    response.setHeader(acceptedHeader, accepted);
    response.setHeader('content-length', head.length);
    response.end(head);
    // What the log calls the status is the client's.
    response.statusCode = status;
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

const headersOf = (response: ServerResponse): Record<string, string | string[]> =>
  (response as ServerResponse & { getHeaders(): Record<string, string | string[]> }).getHeaders();

/** Returns what the gateway is told about a response, by which another node can go on with it; undefined when none could. */
function describe(status: number, headers: Record<string, string | string[]>, length: number): string | undefined {
  const part = resumptionOf('GET', { status, headers });
  if (!part || length === 0) return undefined;
  try {
    return encodeAcceptedHeader({ status, length, first: part.first, tag: part.etag });
  } catch {
    return undefined; // the tag is of a form that the header does not carry
  }
}
