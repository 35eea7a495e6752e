import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const program = fileURLToPath(new URL('../support/taken_memory.mjs', import.meta.url));
const installed = (name: string): string =>
  fileURLToPath(new URL(`../../../../.sheaf/node-versions/node_modules/${name}/bin/node`, import.meta.url));

/** Each treats marked memory in its own way: 20 has no `ArrayBuffer.prototype.transfer()`, 22 takes it away, 24 refuses. */
const versions = { 'this Node': process.execPath, 'Node 22': installed('node-22'), 'Node 24': installed('node-24') };

const whole = { request: 'whole', stream: 'whole', response: 'whole' };

describe('memory that is lent to the transport', () => {
  it.each(Object.entries(versions))(
    'stays in requests and responses, even when the application transfers it away (%s)',
    async (name, node) => {
      if (!existsSync(node)) throw new Error(`${node} is missing; run \`npm run setup\``);
      const directory = await temporaryDirectory();
      const certificate = await createDevCertificate(['localhost'], new Date());
      const files = [join(directory, 'certificate.pem'), join(directory, 'key.pem')] as const;
      await writeFile(files[0], certificate.certificate);
      await writeFile(files[1], certificate.privateKey);
      const { stdout } = await promisify(execFile)(node, [program, ...files]);
      const { version, taken, outcomes } = JSON.parse(stdout) as {
        version: string;
        taken: string[];
        outcomes: Record<string, typeof whole>;
      };
      const major = Number(version.split('.')[0]);
      if (node !== process.execPath) expect(`Node ${major}`).toBe(name);
      const ways = major > 20 ? ['structuredClone', 'transfer', 'transferToFixedLength'] : ['structuredClone'];
      expect(outcomes).toEqual(Object.fromEntries(ways.map((way) => [way, whole])));
      // It is tried in earnest: what is not marked is taken away.
      expect(new Set(taken)).toEqual(new Set(ways));
    },
  );
});
