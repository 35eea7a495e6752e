/**
 * Sends two requests over one HTTP/3 connection.
 *
 *     node http3_client.mjs certificate.pem            # beside http3_server.mjs
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { connectHttp3 } from '@sheaf/native';

const [certificateFile = 'certificate.pem', port = '4433'] = process.argv.slice(2);

const client = await connectHttp3({
  host: 'localhost',
  remote: { address: '127.0.0.1', port: Number(port) },
  port: Number(port),
  alpn: ['h3'],
  // Trusted beside the system's authorities.
  certificateAuthority: readFileSync(certificateFile, 'utf8'),
});

const responses = await Promise.all([
  client.request({ path: '/hello' }),
  client.request({ method: 'POST', path: '/upload', body: Buffer.alloc(100_000) }),
]);
for (const response of responses) console.log(response.status, (await text(response)).trim());

await client.close();
