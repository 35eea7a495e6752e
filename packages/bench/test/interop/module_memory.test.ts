import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectHttp3, type WebTransportSession } from '@sheaf/native';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '@sheaf/gateway/client';
import { residentMebibytes } from '../../src/process/memory.js';
import { judgeMemory } from '../../src/soak/verdict.js';
import { sheaf, startProgram } from './programs.js';

const fixtures = join(import.meta.dirname, '..', '..', '..', '..', 'fixtures', 'modules');
const modules = readdirSync(fixtures).filter((file) => file.endsWith('.mjs'));
const behaviours = ['end', 'reset', 'stop', 'open'] as const;
const sessions = 1_400;
const atOnce = 4;
/** What is measured has other sessions open, and garbage that nobody has needed to collect. */
const flatMebibytes = 24;

/** Opens streams and ends them so; the module may have closed the session meanwhile. */
async function useSession(session: WebTransportSession, behaviour: (typeof behaviours)[number]): Promise<void> {
  const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);
  const end = async (writable: WritableStream<Uint8Array>): Promise<void> => {
    const writer = writable.getWriter();
    writer.closed.catch(() => undefined);
    await quietly(writer.write(new Uint8Array(20_000)));
    if (behaviour === 'end') await quietly(writer.close());
    if (behaviour === 'reset') await quietly(writer.abort({ streamErrorCode: 5 }));
  };
  const datagrams = session.datagrams.writable.getWriter();
  datagrams.closed.catch(() => undefined);
  for (let count = 0; count < 2; count += 1) {
    await quietly(
      session.createBidirectionalStream().then(async ({ readable, writable }) => {
        if (behaviour === 'stop') await readable.cancel({ streamErrorCode: 5 });
        await end(writable);
      }),
    );
    await quietly(session.createUnidirectionalStream().then(end));
    await quietly(datagrams.write(new Uint8Array(100)));
  }
}

test(`memory stays flat over ${sessions} sessions of all modules`, { timeout: 400_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-modules-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const admin = await freePort();
  const routes = modules.map(
    (file) => `  - { path: /${file}, webtransport: ${JSON.stringify(join(fixtures, file))} }\n`,
  );
  writeFileSync(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\nlog: { level: silent }\nroutes:\n${routes.join('')}`,
  );
  const gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
  const status = async (): Promise<{ pid: number; webTransportSessions: number }> =>
    (await fetch(`http://127.0.0.1:${admin}/status`)).json() as Promise<{ pid: number; webTransportSessions: number }>;
  const { pid } = await status();

  const samples: number[] = [];
  let begun = 0;
  const worker = async (): Promise<void> => {
    for (let index = begun++; index < sessions; index = begun++) {
      const client = await connectHttp3({
        alpn: ['h3'],
        host: '127.0.0.1',
        port,
        serverName: 'localhost',
        insecure: true,
        webtransport: true,
      });
      const session = await client.openWebTransport(`/${modules[index % modules.length]}`);
      await useSession(session, behaviours[Math.floor(index / modules.length) % behaviours.length]!);
      if (Math.floor(index / modules.length / behaviours.length) % 2 === 0)
        session.close({ closeCode: 3, reason: 'enough' });
      await client.close();
      samples.push(await residentMebibytes(pid));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  expect(samples).toHaveLength(sessions);
  // A client says once that it closes: where that is lost, its session ends when the connection has been silent for long.
  await vi.waitFor(async () => expect(await status()).toMatchObject({ pid, webTransportSessions: 0 }), {
    timeout: 90_000,
    interval: 100,
  });
  const memory = judgeMemory(samples, flatMebibytes);
  expect(memory.growth, JSON.stringify(memory)).toBeLessThanOrEqual(flatMebibytes);
  expect(await gateway.stop()).toBe(0);
});
