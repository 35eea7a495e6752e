/** Bytes of a response's body that one server sent without interruption */
export interface ResponsePart {
  /** Number of the backend; absent for the gateway */
  readonly backend?: number;
  readonly bytes: number;
}

/** The servers that sent a response which came through an edge, as pages see it */
export interface ResponseReport {
  /** Id in the response's header {@link RESPONSE_HEADER} */
  readonly id: number;
  /** Whether no more bytes follow: the response is complete, or it failed */
  readonly ended: boolean;
  /**
   * Servers in the order in which they were asked. Each continues what the one before it could not finish, or not
   * begin.
   */
  readonly parts: readonly ResponsePart[];
}

/** Response header with the id of its {@link ResponseReport}. */
export const RESPONSE_HEADER = 'sheaf-response';

/** Number of responses that an edge remembers */
export const MAXIMUM_RESPONSES = 128;

/** Checks the response of `responses`. @throws TypeError with the name of the wrong field */
export function parseResponseReports(value: unknown): ResponseReport[] {
  const responses = (value as { responses?: unknown } | null)?.responses;
  if (!Array.isArray(responses) || responses.length > MAXIMUM_RESPONSES)
    throw new TypeError(`responses: not a list of at most ${MAXIMUM_RESPONSES}`);
  return responses.map(parseResponseReport);
}

function parseResponseReport(value: unknown): ResponseReport {
  const { id, ended, parts } = (value ?? {}) as Record<keyof ResponseReport, unknown>;
  if (!isCount(id)) throw new TypeError('id: not a whole number from 0');
  if (typeof ended !== 'boolean') throw new TypeError('ended: neither true nor false');
  if (!Array.isArray(parts)) throw new TypeError('parts: not a list');
  return { id, ended, parts: parts.map(parseResponsePart) };
}

function parseResponsePart(value: unknown): ResponsePart {
  const { backend, bytes } = (value ?? {}) as Record<keyof ResponsePart, unknown>;
  if (!isCount(bytes)) throw new TypeError('bytes: not a whole number from 0');
  if (backend === undefined) return { bytes };
  if (!isCount(backend)) throw new TypeError('backend: not a whole number from 0');
  return { backend, bytes };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
