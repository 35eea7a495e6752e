import { describe, expect, it } from 'vitest';
import { startFullGateway } from '../../support/gateway.js';
import { connect } from '../../support/http3_client.js';

/** What opening a session from a page of this origin comes to; undefined for a client that is no browser. */
async function open(target: string, origin: string | undefined, authority = 'site.example'): Promise<string> {
  const { port } = await startFullGateway(`routes: [{ path: /echo, webtransport: ${target} }]`);
  const client = await connect(port, { webtransport: true });
  return client.openWebTransport('/echo', origin === undefined ? {} : { origin }, authority).then(
    () => 'open',
    (error: unknown) => `refused ${(error as { errorCode?: number }).errorCode}`,
  );
}

describe('who may open a session', () => {
  it.each([
    ['echo', 'https://site.example', 'open'],
    ['echo', 'https://site.example:8443', 'open'],
    ['echo', undefined, 'open'],
    ['echo', 'https://other.example', 'refused 403'],
    ['echo', 'http://site.example', 'refused 403'],
    ['echo', 'null', 'refused 403'],
    ['{ application: echo, origins: "*" }', 'https://other.example', 'open'],
    ['{ application: echo, origins: "*" }', undefined, 'open'],
    ['{ application: echo, origins: ["https://other.example"] }', 'https://other.example', 'open'],
    ['{ application: echo, origins: ["https://other.example"] }', 'https://site.example', 'refused 403'],
    ['{ application: echo, origins: ["https://other.example"] }', undefined, 'refused 403'],
  ])('%s: a page of %s is %s', async (target, origin, expected) => {
    expect(await open(target, origin)).toBe(expected);
  });
});
