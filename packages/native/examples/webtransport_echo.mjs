/**
 * Opens a WebTransport session to a server that echoes streams and datagrams.
 *
 *     node webtransport_echo.mjs certificate.pem key.pem
 */
import { readFileSync } from 'node:fs';
import { connectHttp3, createHttp3Server } from '@sheaf/native';

const [certificateFile = 'certificate.pem', keyFile = 'key.pem'] = process.argv.slice(2);
const certificate = readFileSync(certificateFile, 'utf8');

const server = createHttp3Server({
  address: '127.0.0.1',
  port: 0,
  alpn: ['h3'],
  webtransport: true,
  certificate: { certificate, privateKey: readFileSync(keyFile, 'utf8') },
});
server.on('webtransport', (request) => {
  if (request.url !== '/echo') return request.reject(404);
  const session = request.accept();
  void echoStreams(session);
  // A page that leaves ends the pipe; there is nothing to do about it.
  session.datagrams.readable.pipeTo(session.datagrams.createWritable()).catch(() => undefined);
});
const { port } = await server.listen();

async function echoStreams(session) {
  for await (const { readable, writable } of session.incomingBidirectionalStreams) {
    readable.pipeTo(writable).catch(() => undefined);
  }
}

const client = await connectHttp3({
  host: 'localhost',
  remote: { address: '127.0.0.1', port },
  port,
  alpn: ['h3'],
  webtransport: true,
  certificateAuthority: certificate,
});
const session = await client.openWebTransport('/echo');

const { readable, writable } = await session.createBidirectionalStream();
const writer = writable.getWriter();
await writer.write(new TextEncoder().encode('over a stream'));
await writer.close();
console.log('echoed:', await new Response(readable).text());

// Datagrams may be lost: a real application sends again, or does without.
await session.datagrams.createWritable().getWriter().write(new TextEncoder().encode('in a datagram'));
const datagram = await session.datagrams.readable.getReader().read();
console.log('echoed:', new TextDecoder().decode(datagram.value));

session.close({ closeCode: 0, reason: 'done' });
console.log('closed:', await session.closed);
await client.close();
await server.close();
