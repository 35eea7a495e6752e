import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const parser = new URL('../../../dist/targets/upstream/response_parser.js', import.meta.url).href;
const undici = import.meta.resolve('undici');

/** Says by how many bytes a process grew at most while it read 1,000 responses. */
const program = `
  import { createServer } from 'node:http';
  import { once } from 'node:events';
  import { loadResponseParser } from ${JSON.stringify(parser)};
  import { Pool } from ${JSON.stringify(undici)};
  await loadResponseParser();
  const server = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pool = new Pool('http://127.0.0.1:' + server.address().port, { connections: 20 });
  const ask = async () => (await pool.request({ path: '/', method: 'GET' })).body.text();
  await ask();
  let most = 0;
  // Memory of a compiler that works beside this thread.
  const before = process.memoryUsage.rss();
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 1);
  for (let i = 0; i < 50; i++) await Promise.all(Array.from({ length: 20 }, ask));
  clearInterval(timer);
  console.log(Math.max(most, process.memoryUsage.rss()) - before);
  process.exit();
`;

test('the parser of responses takes no memory once it is loaded: 30 MB are for a compiler that makes it no faster', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  console.log(`1,000 responses: ${(Number(stdout) / 1e6).toFixed(1)} MB`);
  expect(Number(stdout)).toBeLessThan(30e6);
});
