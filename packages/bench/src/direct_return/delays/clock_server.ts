// The server behind backends of which delays are measured, in a process of its own. It answers with the time at which it was
// asked, by a clock that all processes of the machine share, in a body of 1 KB.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CLOCK_BYTES } from './delay_messages.js';

const server = createServer((_request, response) => {
  const now = String(process.hrtime.bigint());
  response.writeHead(200, { 'content-length': CLOCK_BYTES, etag: `"${now}"` });
  response.end(now.padEnd(CLOCK_BYTES));
});
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.once('SIGTERM', () => process.exit(0));
