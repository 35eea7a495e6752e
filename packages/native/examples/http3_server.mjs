/**
 * Serves HTTP/3 on UDP port 4433 of this machine, with an ordinary Node request handler.
 *
 *     openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 10 \
 *       -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out certificate.pem
 *     node http3_server.mjs certificate.pem key.pem
 */
import { readFileSync } from 'node:fs';
import { createHttp3Server } from '@sheaf/native';

const [certificateFile = 'certificate.pem', keyFile = 'key.pem', port = '4433'] = process.argv.slice(2);

const server = createHttp3Server({
  address: '127.0.0.1',
  port: Number(port),
  alpn: ['h3'],
  certificate: { certificate: readFileSync(certificateFile, 'utf8'), privateKey: readFileSync(keyFile, 'utf8') },
});

server.on('request', async (request, response) => {
  let received = 0;
  for await (const chunk of request) received += chunk.length;
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.end(`${request.method} ${request.url} with ${received} bytes, over HTTP/${request.httpVersion}\n`);
});

const address = await server.listen();
console.log(`Listening on https://localhost:${address.port}/`);

// Finishes open requests for up to five seconds.
process.once('SIGINT', () => server.close(5_000));
