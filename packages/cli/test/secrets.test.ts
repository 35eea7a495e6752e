import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort, start, type RunningProcess } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

interface Site {
  directory: string;
  port: number;
}

async function makeSite(secrets = 'secrets: ./secrets\n'): Promise<Site> {
  const [directory, port] = [await temporaryDirectory(), await freePort()];
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'index.html'), 'hello');
  await writeFile(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\n${secrets}limits: { retry: always }\nroutes: [{ files: ./site }]\n`,
  );
  return { directory, port };
}

async function up({ directory }: Site): Promise<RunningProcess> {
  const running = start(['up', 'sheaf.yaml'], directory);
  await vi.waitFor(() => expect(running.out() + running.err()).toMatch(/ready|error/), 30_000);
  expect(running.err()).not.toContain('error[');
  return running;
}

/** Connects, and waits for a ticket. */
async function visit({ port }: Site, session?: Buffer): Promise<{ client: Http3Client; ticket: Buffer }> {
  const client = await connectHttp3({
    host: '127.0.0.1',
    port,
    insecure: true,
    ...(session ? { session, earlyRequests: true } : {}),
  });
  onTestFinished(() => client.close().catch(() => undefined));
  const ticket = once(client, 'session').then(([given]) => given as Buffer);
  const response = await client.request({ path: '/' });
  expect(response.status).toBe(200);
  response.resume();
  return { client, ticket: await ticket };
}

/** Asks over TCP, and returns the ticket that came, if one did before the response ended. */
async function visitByTcp({ port }: Site, session?: Buffer): Promise<{ reused: boolean; ticket: Buffer | undefined }> {
  const socket: TLSSocket = connectTls({
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    ...(session ? { session } : {}),
  });
  onTestFinished(() => void socket.destroy());
  let ticket: Buffer | undefined;
  socket.on('session', (given) => (ticket = given));
  await once(socket, 'secureConnect');
  const reused = socket.isSessionReused();
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  let response = '';
  for await (const chunk of socket) response += String(chunk);
  expect(response).toContain('200 OK');
  return { reused, ticket };
}

async function kill(running: RunningProcess): Promise<void> {
  running.child.kill('SIGKILL');
  await running.exit;
}

describe('sheaf secrets', () => {
  it('makes a file that only its owner reads, and renews it', async () => {
    const directory = await temporaryDirectory();
    const made = await sheaf(['secrets', 'secrets', '--json'], directory);
    expect(JSON.parse(made.out)).toEqual({ file: join(directory, 'secrets'), in_use: 0, next: 1 });
    const file = join(directory, 'secrets');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file, 'utf8');
    const renewed = await sheaf(['secrets', 'secrets'], directory);
    expect(renewed.out).toContain('secret 1 is in use, 2 comes next');
    expect(await readFile(file, 'utf8')).toContain(before.trim().split('\n').at(-1));
    expect(made.out + renewed.out).not.toMatch(/[0-9a-f]{32}/);
  });

  it('keeps the owner and mode of the file', async () => {
    const directory = await temporaryDirectory();
    const file = join(directory, 'secrets');
    await sheaf(['secrets', 'secrets'], directory);
    await chmod(file, 0o400);
    // Only root can give a file away.
    const owner = process.getuid?.() === 0 ? 12345 : (await stat(file)).uid;
    await chown(file, owner, (await stat(file)).gid);
    expect((await sheaf(['secrets', 'secrets'], directory)).code).toBe(0);
    const { uid, mode } = await stat(file);
    expect([uid, mode & 0o777]).toEqual([owner, 0o400]);
  });

  it('loses no renewal of two at once', async () => {
    const directory = await temporaryDirectory();
    const file = join(directory, 'secrets');
    await sheaf(['secrets', 'secrets'], directory);
    const before = await readFile(file, 'utf8');
    await writeFile(`${file}.lock`, '1\n');
    const refused = await sheaf(['secrets', 'secrets'], directory);
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(/FILE_UNWRITABLE.*another process renews[^]*hint: .*remove .*secrets\.lock/);
    expect(await readFile(file, 'utf8')).toBe(before);
    await rm(`${file}.lock`);
    const several = await Promise.all(
      Array.from({ length: 4 }, () => sheaf(['secrets', 'secrets', '--json'], directory)),
    );
    const done = several.filter(({ code }) => code === 0).map(({ out }) => (JSON.parse(out) as { next: number }).next);
    expect(done.length).toBeGreaterThan(0);
    expect(new Set(done).size).toBe(done.length);
    expect(await readdir(directory)).toEqual(['secrets']);
  });

  it('refuses to renew what is no file of secrets, and keeps it', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'notes'), 'my notes', { mode: 0o600 });
    const refused = await sheaf(['secrets', 'notes'], directory);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain('CREDENTIALS_UNUSABLE');
    expect(await readFile(join(directory, 'notes'), 'utf8')).toBe('my notes');
  });
});

describe('with `secrets`, after a gateway was killed and its successor runs', () => {
  it('clients hear of it at once, and resume', async () => {
    const site = await makeSite();
    await sheaf(['secrets', 'secrets'], site.directory);
    const first = await up(site);
    const { client, ticket } = await visit(site);
    const { ticket: tcpTicket } = await visitByTcp(site);
    const closed = once(client, 'close');
    await kill(first);
    // The successor has other secrets in use, and knows those of the process before.
    await sheaf(['secrets', 'secrets'], site.directory);
    await up(site);

    // A stateless reset is the response to whatever the client sends next.
    client.request({ path: '/' }).catch(() => undefined);
    const [error] = (await closed) as [Error];
    expect(error.message).toContain('stateless reset');

    const { client: second, ticket: next } = await visit(site, ticket);
    expect(second.status().resumed).toBe(true);
    // The successor cannot know whether it saw these 0-RTT packets before.
    expect(second.status().earlyData).toBe(false);
    const { client: third } = await visit(site, next);
    expect(third.status().earlyData).toBe(true);
    // Node's tickets over TCP are opened by the secret in use alone.
    expect((await visitByTcp(site, tcpTicket)).reused).toBe(false);
  });

  it('tickets over TCP hold while the secret in use is the same', async () => {
    const site = await makeSite();
    await sheaf(['secrets', 'secrets'], site.directory);
    const first = await up(site);
    const { ticket } = await visitByTcp(site);
    await kill(first);
    await up(site);
    expect((await visitByTcp(site, ticket)).reused).toBe(true);
  });
});

describe('without `secrets`, after a gateway was killed and its successor runs', () => {
  it('clients hear of it at once, and their tickets are worth nothing', async () => {
    const site = await makeSite('');
    const first = await up(site);
    const { client, ticket } = await visit(site);
    const closed = once(client, 'close');
    await kill(first);
    await up(site);
    client.request({ path: '/' }).catch(() => undefined);
    const [error] = (await closed) as [Error];
    expect(error.message).toContain('stateless reset');
    const { client: second } = await visit(site, ticket);
    expect(second.status().resumed).toBe(false);
  });
});

describe('secrets that are renewed while a gateway runs', () => {
  it('are used for new connections, and open ones live', async () => {
    const site = await makeSite();
    await sheaf(['secrets', 'secrets'], site.directory);
    const running = await up(site);
    const { client, ticket } = await visit(site);
    await sheaf(['secrets', 'secrets'], site.directory);
    await vi.waitFor(() => expect(running.out() + running.err()).toContain('secrets replaced'), 10_000);
    const response = await client.request({ path: '/' });
    expect(response.status).toBe(200);
    response.resume();
    const { client: second } = await visit(site, ticket);
    expect(second.status().resumed).toBe(true);
  });
});
