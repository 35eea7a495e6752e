import type { TraceFields } from '../http/request_trace.js';
import { headerValue, type RequestHeaders } from '../http/exchange.js';
import { boundedTraceState } from './trace_state.js';

/** One operation of a trace, as the fields of a request tell it (W3C Trace Context) */
export interface TraceContext {
  /** 16 octets, hexadecimal */
  readonly traceId: string;
  /** 8 octets, hexadecimal */
  readonly spanId: string;
  /** Bits of `knownFlags` */
  readonly flags: number;
  /** List of `tracestate` */
  readonly state?: string | undefined;
}

/** Returns this number of random octets. */
export type RandomSource = (octets: number) => Uint8Array;

export const sampledFlag = 0x01;
/** `sampled`, and `random` of Trace Context Level 2 §3.2.2.5.2, which is passed on unchanged. Other bits are sent as zeros. */
const knownFlags = 0x03;

const traceIdOctets = 16;
const spanIdOctets = 8;

/** Octets of version 00, which are the first ones of every later version (Trace Context §3.2.2, §4.3) */
const traceparentOctets = 55;
const maxTraceparentOctets = 256;
const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/;

/** Returns the context of a `traceparent`; undefined for what Trace Context §3.2.2 does not permit. */
export function parseTraceparent(field: string): TraceContext | undefined {
  if (field.length < traceparentOctets || field.length > maxTraceparentOctets) return undefined;
  const [, version, traceId = '', spanId = '', flags = ''] = traceparent.exec(field) ?? [];
  if (version === undefined || version === 'ff' || isZero(traceId) || isZero(spanId)) return undefined;
  const further = field.slice(traceparentOctets);
  if (further !== '' && (version === '00' || !further.startsWith('-'))) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & knownFlags };
}

/** Returns the context that the fields of a request tell; undefined when they tell none. */
export function traceContextOf(headers: RequestHeaders): TraceContext | undefined {
  const context = parseTraceparent(headerValue(headers, 'traceparent') ?? '');
  const state = context && boundedTraceState(headerValue(headers, 'tracestate') ?? '');
  return state ? { ...context, state } : context;
}

/** Returns the fields that tell a context to the next server. */
export function traceFields({ traceId, spanId, flags, state }: TraceContext): TraceFields {
  const field = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
  return state === undefined ? { traceparent: field } : { traceparent: field, tracestate: state };
}

/** Returns the context of an operation below `parent`. */
export function childOf(parent: TraceContext, random: RandomSource): TraceContext {
  return { ...parent, spanId: randomId(spanIdOctets, random) };
}

/** Returns the context of the first operation of a trace. `share`: how many of all traces are sampled, from 0 to 1. */
export function newTrace(share: number, random: RandomSource): TraceContext {
  const traceId = randomId(traceIdOctets, random);
  // 13 hexadecimal digits are 52 bits, which a number holds exactly.
  const isSampled = Number.parseInt(traceId.slice(-13), 16) < share * 2 ** 52;
  return { traceId, spanId: randomId(spanIdOctets, random), flags: isSampled ? sampledFlag : 0 };
}

/** Ids of zeros alone are invalid (Trace Context §3.2.2.3, §3.2.2.4). */
function randomId(octets: number, random: RandomSource): string {
  const id = Buffer.from(random(octets)).toString('hex');
  return isZero(id) ? `${id.slice(1)}1` : id;
}

const isZero = (digits: string): boolean => /^0*$/.test(digits);
