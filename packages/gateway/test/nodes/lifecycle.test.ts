import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfiguration } from '../../src/configuration/load.js';
import { onlyGateway } from '../../src/schema/loaded.js';
import { UserError } from '../../src/errors/user_error.js';
import type { FrontNodeOptions } from '../../src/nodes/front/front.js';
import { Gateway } from '../../src/nodes/gateway.js';
import { listenError } from '../../src/values/listen_error.js';
import { collect, get, getByHttp2 } from '../support/client.js';
import { startGateway } from '../support/gateway.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { startUpstream } from '../support/upstream.js';

/** An upstream that answers when it is told to. */
async function startSlowUpstream() {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const upstream = await startUpstream((_request, response) => {
    arrive();
    void released.then(() => response.end('late'));
  });
  return { origin: upstream.origin, release, arrived };
}

describe('stopping', () => {
  it.each([
    ['HTTP/1.1', get],
    ['HTTP/2', getByHttp2],
  ])('lets a request in flight finish over %s', async (_version, ask) => {
    const upstream = await startSlowUpstream();
    const { gateway, port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const answer = ask(port, '/');
    await upstream.arrived;
    const closed = gateway.close(60_000);
    expect(gateway.status().state).toBe('draining');
    await expect(get(port, '/')).rejects.toThrow();
    upstream.release();
    expect((await answer).body.toString()).toBe('late');
    await closed;
    expect(gateway.status().state).toBe('stopped');
  });

  it('cuts what takes longer than the drain time', async () => {
    const upstream = await startSlowUpstream();
    const { gateway, port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const answer = get(port, '/');
    const failed = expect(answer).rejects.toThrow();
    await upstream.arrived;
    await gateway.close(50);
    await failed;
  });

  it('does not wait for idle connections of either version', async () => {
    const { gateway, port } = await startGateway('routes: [{ files: . }]');
    const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
    onTestFinished(() => agent.destroy());
    const request = httpsRequest({ host: '127.0.0.1', port, path: '/none', agent });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    await collect(response);
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    await once(session, 'connect');
    const halfOpen = createServer();
    onTestFinished(() => void halfOpen.close());
    const ended = once(session, 'close');
    const started = performance.now();
    await gateway.close(60_000);
    await ended;
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});

describe('a taken port', () => {
  const withoutTransport: FrontNodeOptions = { loadNative: () => Promise.resolve(undefined) };
  async function startOn(yaml: string, options = withoutTransport): Promise<UserError> {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'sheaf.yaml'), yaml);
    const loaded = onlyGateway(await loadConfiguration(join(directory, 'sheaf.yaml')));
    const error: unknown = await Gateway.start(loaded, options).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UserError);
    return error as UserError;
  }

  it.each(['listen', 'admin', 'http'])('is named with its place (%s)', async (option) => {
    const other = createServer();
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const listen = option === 'listen' ? '' : 'listen: 127.0.0.1:0\n';
    const error = await startOn(
      `${listen}${option}: 127.0.0.1:${port}\nroutes: [{ files: . }]\nlog: { level: silent }\n`,
    );
    expect(error).toMatchObject({ code: 'PORT_TAKEN', exitCode: 3 });
    expect(error.render()).toContain(`${option}: 127.0.0.1:${port}`);
    expect(error.render()).toContain('^^^');
  });

  it.each(['TCP', 'UDP'])('names the one of several addresses (%s)', async (protocol) => {
    const other =
      protocol === 'TCP' ? createServer().listen(0, '127.0.0.2') : createSocket('udp4').bind(0, '127.0.0.2');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const error = await startOn(
      `listen: ["127.0.0.1:${port}", "127.0.0.2:${port}"]\nroutes: [{ files: . }]\nlog: { level: silent }\n`,
      {},
    );
    expect(error).toMatchObject({
      code: 'PORT_TAKEN',
      message: `${protocol} 127.0.0.2:${port} is taken by another process`,
    });
    const again = createServer().listen(port, '127.0.0.1');
    await once(again, 'listening');
    again.close();
  });

  it('leaves nothing listening behind', async () => {
    const other = createServer();
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const probe = createServer();
    probe.listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    await startOn(
      `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${(other.address() as AddressInfo).port}\nroutes: [{ files: . }]\nlog: { level: silent }\n`,
    );
    const again = createServer();
    again.listen(port, '127.0.0.1');
    await once(again, 'listening');
    again.close();
  });

  it('is told apart from other reasons', async () => {
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    const failed = once(socket, 'error');
    socket.bind(0, '192.0.2.1');
    const [error] = (await failed) as [Error];
    expect(listenError(error, { address: '192.0.2.1', port: 1 }, 'UDP')).toMatchObject({ code: 'ADDRESS_UNAVAILABLE' });
    expect(
      listenError(Object.assign(new Error('x'), { code: 'EACCES' }), { address: '::', port: 80 }, 'TCP'),
    ).toMatchObject({ code: 'PORT_FORBIDDEN' });
  });
});
