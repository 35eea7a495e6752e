import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '@sheaf/gateway/client';
import { json, sheaf, startProgram, type RunningProgram } from '../interop/programs.js';
import { startLossyRelay } from '../support/lossy_relay.js';

const body = randomBytes(1_000_000);
const sha256 = createHash('sha256').update(body).digest('hex');
let directory: string;
let gateway: RunningProgram;
let port: number;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-loss-'));
  mkdirSync(join(directory, 'site'));
  writeFileSync(join(directory, 'site', 'body.bin'), body);
  port = await freePort();
  writeFileSync(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\ntls: dev\nroutes:\n  - { path: /, files: ./site }\n`,
  );
  gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
});
afterAll(async () => {
  await gateway.stop();
  rmSync(directory, { recursive: true, force: true });
});

test.each([1, 2, 3])(
  'a download arrives whole although a random 0.3 of the datagrams are lost each way (seed %i)',
  async (seed) => {
    const relay = await startLossyRelay(port, 0.3, seed);
    try {
      const result = await json(sheaf, ['fetch', `https://127.0.0.1:${relay.port}/body.bin`, '--insecure', '--json']);
      console.log(
        `seed ${seed}: ${relay.counts.dropped} datagrams dropped, ${relay.counts.carried} carried, ${String(result['ms'])} ms`,
      );
      expect(result).toMatchObject({ status: 200, bytes: body.length, sha256 });
      expect(relay.counts.dropped).toBeGreaterThan(100);
    } finally {
      relay.close();
    }
  },
  300_000,
);
