/**
 * Downloads over two paths of one connection (RFC 10069) and prints how many bytes came over each.
 * Loopback stands in for two networks: the client uses 127.0.0.1 and 127.0.0.2.
 *
 *     node two_paths.mjs certificate.pem key.pem
 */
import { readFileSync } from 'node:fs';
import { connectHttp3, createHttp3Server } from '@sheaf/native';

const [certificateFile = 'certificate.pem', keyFile = 'key.pem'] = process.argv.slice(2);
const certificate = readFileSync(certificateFile, 'utf8');
const size = 20_000_000;

const server = createHttp3Server({
  address: '127.0.0.1',
  port: 0,
  alpn: ['h3'],
  pathScheduler: 'round-robin',
  certificate: { certificate, privateKey: readFileSync(keyFile, 'utf8') },
});
server.on('request', (request, response) => response.end(Buffer.alloc(size)));
const { port } = await server.listen();

const client = await connectHttp3({
  host: 'localhost',
  remote: { address: '127.0.0.1', port },
  localAddress: '127.0.0.1',
  port,
  alpn: ['h3'],
  certificateAuthority: certificate,
});

// Resolves once both sides have validated the path.
await client.openPath({ local: '127.0.0.2' });

let received = 0;
for await (const chunk of await client.request({ path: '/' })) received += chunk.length;
console.log(`${received} bytes of the body`);
for (const path of client.status().paths)
  console.log(`path ${path.id} from ${path.local.address}: ${path.bytesReceived} bytes`);

await client.close();
await server.close();
