import type { IncomingHttpHeaders } from 'node:http';
import { startUpstream } from './upstream.js';

/** What a client sends that has a trace of its own */
export const clientTrace = '4bf92f3577b34da6a3ce929d0e0e4736';
export const clientSpan = '00f067aa0ba902b7';
export const traced = { traceparent: `00-${clientTrace}-${clientSpan}-01`, tracestate: 'rojo=1,congo=2' };

/** Configuration that trusts every client of the test */
export const trusting = 'tracing: { trust: 127.0.0.1, sample: 0 }';

export interface Told {
  trace: string | undefined;
  span: string | undefined;
  flags: string | undefined;
  state: string | string[] | undefined;
}

/** Returns what the fields of a request tell about its trace. */
export function toldBy(headers: IncomingHttpHeaders): Told {
  const [, trace, span, flags] = String(headers['traceparent'] ?? '').split('-');
  return { trace, span, flags, state: headers['tracestate'] };
}

/** An upstream that answers with the fields of each request, which it also keeps */
export async function mirror(): Promise<{ origin: string; port: number; told: Told[] }> {
  const told: Told[] = [];
  const { origin, port } = await startUpstream((request, response) => {
    told.push(toldBy(request.headers));
    response.end(JSON.stringify(request.headers));
  });
  return { origin, port, told };
}
