// Runs one download in a process of its own, as noq's client does. Arguments: PORT TARGET, then the local addresses of
// further paths.
import { createHash } from 'node:crypto';
import { connectHttp3 } from '@sheaf/native';

const [port, target, ...locals] = process.argv.slice(2);
if (port === undefined || target === undefined) throw new Error('usage: sheaf_client.js PORT TARGET [LOCAL]...');
const client = await connectHttp3({
  host: '127.0.0.1',
  port: Number(port),
  serverName: 'localhost',
  alpn: ['hq-interop'],
  insecure: true,
  localAddress: '127.0.0.1',
});
for (const local of locals) await client.openPath({ local });
const started = performance.now();
const response = await client.request({ method: 'GET', path: target, authority: 'localhost', headers: {} });
const hash = createHash('sha256');
let bytes = 0;
const buffer = Buffer.allocUnsafeSlow(256 * 1024);
for (let read = await response.readInto(buffer); read > 0; read = await response.readInto(buffer)) {
  hash.update(buffer.subarray(0, read));
  bytes += read;
}
const seconds = (performance.now() - started) / 1000;
process.stdout.write(`${JSON.stringify({ event: 'downloaded', bytes, sha256: hash.digest('hex'), seconds })}\n`);
await client.close();
