import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePort } from '../../src/process/service.js';
import { aioquicClient, aioquicSessions, sheaf, startProgram, type RunningProgram } from './programs.js';

const fixtures = join(import.meta.dirname, '..', '..', '..', '..', 'fixtures', 'modules');

/** What each module in fixtures/modules costs. */
const modules = {
  echoes: 'nothing',
  reads: 'its session, when the client resets a stream',
  reads_at_once: 'its session, when the client resets a stream',
  leaves: 'nothing',
  ignores: 'nothing',
  never_returns: 'nothing',
  floods: 'its session, when the client stops a stream',
  throws: 'every session',
  throws_at_once: 'every session',
  throws_later: 'every session',
  strays: 'every session',
} as const;

/** CLOSE_WEBTRANSPORT_SESSION with code 1 and `application failed`. */
const closedByFailure = `6843${(4 + 'application failed'.length).toString(16).padStart(2, '0')}00000001${Buffer.from('application failed').toString('hex')}`;

let directory: string;
let gateway: RunningProgram;
let port: number;
let admin: number;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-modules-'));
  port = await freePort();
  admin = await freePort();
  const routes = [...Object.keys(modules), 'listens'].map((name) => `  - { path: /${name}, webtransport: ${JSON.stringify(join(fixtures, `${name}.mjs`))} }\n`);
  writeFileSync(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\nlog: { file: gateway.log }\nlimits: { idle: 3s }\nroutes:\n  - { path: /echo, webtransport: echo }\n${routes.join('')}`,
  );
  gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
});
afterAll(async () => {
  expect(await gateway.stop()).toBe(0);
  rmSync(directory, { recursive: true, force: true });
});

async function logLines(): Promise<Record<string, unknown>[]> {
  const lines = (await readFile(join(directory, 'gateway.log'), 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function admins(path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${admin}${path}`)).text();
}

async function allEnded(): Promise<void> {
  await vi.waitFor(async () => expect(JSON.parse(await admins('/status'))).toMatchObject({ webTransportSessions: 0 }), { timeout: 30_000, interval: 100 });
}

describe.each(Object.entries(modules))('a module that %s', (name, cost) => {
  test(`costs ${cost}, however streams, sessions and connections end`, { timeout: 180_000 }, async () => {
    const sessions = await aioquicSessions(port, `/${name}`);
    expect(sessions).toHaveLength(12);
    for (const session of sessions) expect(session).toMatchObject({ status: 200 });
    if (cost === 'every session') for (const { said } of sessions.filter(({ ending }) => ending !== 'silence')) expect(said).toBe(closedByFailure);

    // Sessions of clients that fell silent end with their connections.
    await allEnded();
    expect(await aioquicClient('webtransport', port, '/echo')).toEqual({ status: 200, bidirectional: true, unidirectional: true, datagram: true });

    const lines = (await logLines()).filter(({ route }) => route === `/${name}`);
    expect(lines.filter(({ msg }) => msg === 'webtransport session')).toHaveLength(sessions.length);
    const failures = lines.filter(({ msg }) => msg === 'WebTransport application failed');
    if (cost === 'nothing') expect(failures).toEqual([]);
    else expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toMatchObject({ application: join(fixtures, `${name}.mjs`), path: `/${name}` });
    const counted = new RegExp(`^sheaf_webtransport_application_failures_total\\{route="/${name}"\\} (\\d+)$`, 'm').exec(await admins('/metrics'))?.[1] ?? '0';
    expect(Number(counted)).toBeGreaterThanOrEqual(failures.length);
  });
});

test('a failure outside of all sessions names the module, and is counted', async () => {
  expect(await aioquicSessions(port, '/listens')).toHaveLength(12);
  await allEnded();
  const lines = (await logLines()).filter(({ msg }) => msg === 'WebTransport application failed outside of its sessions');
  expect(lines).toHaveLength(12);
  for (const line of lines) expect(line).toMatchObject({ application: join(fixtures, 'listens.mjs'), kind: 'exception', err: { message: 'the tick of a clock' } });
  expect(await admins('/metrics')).toContain('sheaf_stray_errors_total{kind="exception"} 12\n');
});
