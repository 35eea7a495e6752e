import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { askAdmin } from '../src/admin.js';

it('a body that fails is not taken for a node that does not answer', async () => {
  const server = createServer((request) => void request.on('error', () => undefined).resume());
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const body = Readable.from(
    (async function* () {
      yield Buffer.from('one');
      await once(server, 'request');
      throw new Error('the disk is gone');
    })(),
  );
  const asked = askAdmin(`127.0.0.1:${(server.address() as AddressInfo).port}`, '/', { method: 'POST', body });
  await expect(asked).rejects.toMatchObject({ code: 'USAGE', message: 'the input cannot be read (the disk is gone)' });
});
