import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { NetworkNamespace } from './support/network_namespace.js';

const example = fileURLToPath(new URL('../../../fixtures/direct-return/run.mjs', import.meta.url));

const missing = NetworkNamespace.missing();
if (missing !== undefined) console.warn(`skipped: the example of direct server return: ${missing}`);

it.skipIf(missing !== undefined)(
  'the example of direct server return sends past the gateway, and leaves nothing behind',
  async () => {
    const child = spawn(process.execPath, [example], { stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGTERM'));
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    // It compares the addresses, the hashes and the numbers itself, and would have ended with an error.
    expect(code, said).toBe(0);
    for (const part of [
      'from the address of the gateway',
      'filters sources',
      'another address of the gateway itself',
      'downloads a file from the backends',
    ])
      expect(said).toContain(part);
    expect(said).toMatch(/of it in large payloads|nothing is captured: /);
    const hosts = [...said.matchAll(/\(process (\d+)\)/g)].map((match) => match[1]!);
    expect(hosts).toHaveLength(6);
    // A process that nobody has waited for has no namespace either.
    const left = (): string[] => hosts.filter((process) => existsSync(`/proc/${process}/ns/net`));
    await vi.waitFor(() => expect(left()).toEqual([]), 60_000);
  },
  480_000,
);
