import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import type { ServerOptions } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createAuthority, type IssuedCertificate, type TestAuthority } from '../../support/authority.js';
import { get } from '../../support/client.js';
import { startGateway } from '../../support/gateway.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';
import { startTlsUpstream } from '../../support/upstream.js';

let authority: TestAuthority;
beforeAll(async () => {
  authority = await createAuthority();
});

/** What an upstream hears of a connection and its request. */
const mirror: RequestListener = (request, response) => {
  const { servername, remotePort } = request.socket as TLSSocket & { servername: string | false };
  response.end(
    JSON.stringify({
      servername,
      remotePort,
      host: request.headers.host,
      forwardedHost: request.headers['x-forwarded-host'],
    }),
  );
};

interface Heard {
  servername: string | false;
  remotePort: number;
  host: string;
  forwardedHost: string;
}

/** A gateway before an upstream with this certificate; `keys` are further ones of the route's `upstream`. */
async function startBefore(
  certificate: IssuedCertificate,
  keys: string,
  options: ServerOptions = {},
  files: Record<string, string> = {},
) {
  const directory = await temporaryDirectory();
  for (const [name, content] of Object.entries({ 'ca.pem': authority.ca, ...files }))
    await writeFile(join(directory, name), content);
  const upstream = await startTlsUpstream({ ...certificate, ...options }, mirror);
  // The name is the one that certificates for `localhost` have; the client asks for another one.
  const origin = upstream.origin.replace('127.0.0.1', 'localhost');
  const running = await startGateway(`routes: [{ upstream: { to: "${origin}", ${keys} } }]`, directory);
  const ask = async (host: string): Promise<Heard> => {
    const answer = await get(running.port, '/', { headers: { host } });
    expect(answer.status).toBe(200);
    return JSON.parse(answer.body.toString()) as Heard;
  };
  return {
    ...running,
    upstream,
    origin,
    directory,
    ask,
    health: () => running.gateway.status().routes[0]?.upstreams?.[0],
  };
}

describe('an upstream over TLS', () => {
  it('is asked and verified by its own name, whatever the client asks for', async () => {
    const { ask, health } = await startBefore(await authority.issue(['localhost']), 'tls: { ca: ca.pem }');
    expect(await ask('www.example.com')).toMatchObject({
      servername: 'localhost',
      host: 'www.example.com',
      forwardedHost: 'www.example.com',
    });
    expect(health()).toMatchObject({ up: true });
  });

  it('keeps its connection while clients ask for several hosts', async () => {
    const { ask, upstream } = await startBefore(
      await authority.issue(['localhost']),
      'connections: 1, tls: { ca: ca.pem }',
    );
    const connected = vi.fn();
    await ask('a.example');
    upstream.server.on('secureConnection', connected);
    const heard = [await ask('b.example'), await ask('c.example'), await ask('b.example')];
    expect(new Set(heard.map(({ remotePort }) => remotePort)).size).toBe(1);
    expect(connected).not.toHaveBeenCalled();
  });

  it('has the name that is configured', async () => {
    const { ask, health } = await startBefore(
      await authority.issue(['backend.internal']),
      'tls: { name: backend.internal, ca: ca.pem }',
    );
    expect(await ask('www.example.com')).toMatchObject({ servername: 'backend.internal' });
    expect(health()).toMatchObject({ up: true });
  });

  it('may have an IP address for a name, which is verified and not sent', async () => {
    const { ask } = await startBefore(await authority.issue(['127.0.0.1']), 'tls: { name: 127.0.0.1, ca: ca.pem }');
    expect(await ask('www.example.com')).toMatchObject({ servername: false });
  });

  it('hears its own host with `host: upstream`', async () => {
    const { ask, origin } = await startBefore(
      await authority.issue(['localhost']),
      'host: upstream, tls: { ca: ca.pem }',
    );
    expect(await ask('www.example.com')).toMatchObject({
      host: new URL(origin).host,
      forwardedHost: 'www.example.com',
    });
  });

  it('knows the gateway by its certificate', async () => {
    const client = await authority.issue(['gateway.internal']);
    const mutual = { ca: authority.ca, requestCert: true, rejectUnauthorized: true };
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'client.pem'), client.cert);
    await writeFile(join(directory, 'client.key'), client.key);
    const certificate = `certificate: { cert: ${directory}/client.pem, key: ${directory}/client.key }`;
    const health = 'health: { path: / }';
    const known = await startBefore(
      await authority.issue(['localhost']),
      `${health}, tls: { ca: ca.pem, ${certificate} }`,
      mutual,
    );
    expect(await known.ask('www.example.com')).toMatchObject({ servername: 'localhost' });
    expect(known.health()).toMatchObject({ up: true });
    expect(
      (await startBefore(await authority.issue(['localhost']), `tls: { ca: ca.pem, ${certificate} }`, mutual)).health(),
    ).toMatchObject({ up: true });
    const unchecked = await startBefore(await authority.issue(['localhost']), 'tls: { ca: ca.pem }', mutual);
    expect(unchecked.health()).toMatchObject({
      up: false,
      reason: 'it wants a certificate of the gateway that it knows',
    });
    const unknown = await startBefore(await authority.issue(['localhost']), `${health}, tls: { ca: ca.pem }`, mutual);
    expect((await get(unknown.port, '/')).status).toBe(502);
    expect(unknown.health()).toMatchObject({ up: false });
  });
});

describe('the files for an upstream over TLS are read again', () => {
  it('when the authority is replaced', async () => {
    const { ask, directory, port } = await startBefore(
      await authority.issue(['localhost']),
      'tls: { ca: other.pem }',
      {},
      { 'other.pem': (await createAuthority()).ca },
    );
    expect((await get(port, '/')).status).toBe(502);
    await writeFile(join(directory, 'other.pem'), authority.ca);
    await vi.waitFor(async () => expect(await ask('localhost')).toMatchObject({ servername: 'localhost' }), {
      timeout: 30_000,
      interval: 200,
    });
  });

  it('when the certificate of the gateway is replaced; a broken one is refused', async () => {
    const [stranger, known] = [
      await (await createAuthority()).issue(['gateway.internal']),
      await authority.issue(['gateway.internal']),
    ];
    const mutual = { ca: authority.ca, requestCert: true, rejectUnauthorized: true };
    const keys = 'tls: { ca: ca.pem, certificate: { cert: client.pem, key: client.key } }';
    const { ask, directory, port } = await startBefore(await authority.issue(['localhost']), keys, mutual, {
      'client.pem': stranger.cert,
      'client.key': stranger.key,
    });
    expect((await get(port, '/')).status).toBe(502);
    const write = async ({ cert, key }: IssuedCertificate): Promise<void> => {
      await writeFile(join(directory, 'client.pem'), cert);
      await writeFile(join(directory, 'client.key'), key);
    };
    await write(known);
    await vi.waitFor(async () => expect(await ask('localhost')).toMatchObject({ servername: 'localhost' }), {
      timeout: 30_000,
      interval: 200,
    });
    await write({ cert: 'nothing', key: 'nothing' });
    // Looked at by then.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await ask('localhost')).toMatchObject({ servername: 'localhost' });
  });
});

describe('an upstream over TLS is refused, and down,', () => {
  it.each([
    [
      'with a certificate of another name',
      ['other.example'],
      5,
      'tls: { ca: ca.pem }',
      'its certificate is for another name',
    ],
    [
      'although the client asks for the name in its certificate',
      ['www.example.com'],
      5,
      'tls: { ca: ca.pem }',
      'its certificate is for another name',
    ],
    ['with a certificate that has expired', ['localhost'], -1, 'tls: { ca: ca.pem }', 'its certificate has expired'],
    [
      'with a certificate of an authority that nobody named',
      ['localhost'],
      5,
      'host: keep',
      'its certificate is from no authority that is trusted',
    ],
  ])('%s', async (_title, names, daysLeft, keys, reason) => {
    const { port, gateway, origin, health } = await startBefore(await authority.issue(names, daysLeft), keys);
    expect(gateway.warnings).toEqual([`upstream ${origin} does not answer yet (${reason})`]);
    expect((await get(port, '/', { headers: { host: 'www.example.com' } })).status).toBe(502);
    expect(health()).toMatchObject({ up: false, reason });
  });
});
