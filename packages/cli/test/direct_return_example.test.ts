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
    const text = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text.err += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code, text.err]).toEqual([0, '']);
    // It compares the addresses and the numbers itself, and would have ended with an error.
    for (const part of ['from the address of the gateway', 'filters sources', 'another address of the gateway itself'])
      expect(text.out).toContain(part);
    const hosts = [...text.out.matchAll(/\(process (\d+)\)/g)].map((match) => match[1]!);
    expect(hosts).toHaveLength(6);
    await vi.waitFor(() => expect(hosts.filter((process) => existsSync(`/proc/${process}`))).toEqual([]), 30_000);
  },
  240_000,
);
