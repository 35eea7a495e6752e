// WebTransport as the foreign clients exercise it. The gateway opens a stream of each kind, and sends
// back what the client opens. How the session ended is written to closed.json beside this file.
import { writeFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

export default async (session, { url }) => {
  await session.ready;
  if (new URL(url, 'https://localhost').pathname === '/close') {
    session.close({ closeCode: 4711, reason: 'closed by the gateway' });
    return;
  }
  void session.closed.then(remember, (error) => remember({ closeCode: -1, reason: String(error) }));
  await Promise.allSettled([
    open(session),
    echoBidirectional(session),
    echoUnidirectional(session),
    echoDatagrams(session),
  ]);
};

async function open(session) {
  const { readable, writable } = await session.createBidirectionalStream();
  const greeting = 'a stream of the gateway';
  await write(writable, new TextEncoder().encode(greeting));
  const back = await new Response(readable).text();
  await write(
    await session.createUnidirectionalStream(),
    new TextEncoder().encode(back === greeting ? 'came back' : `came back as '${back}'`),
  );
}

async function echoBidirectional(session) {
  for await (const { readable, writable } of session.incomingBidirectionalStreams)
    readable.pipeTo(writable).catch(() => {});
}

async function echoUnidirectional(session) {
  for await (const readable of session.incomingUnidirectionalStreams) {
    readable.pipeTo(await session.createUnidirectionalStream()).catch(() => {});
  }
}

async function echoDatagrams(session) {
  const writer = session.datagrams.createWritable().getWriter();
  for await (const datagram of session.datagrams.readable) await writer.write(datagram);
}

async function write(writable, bytes) {
  const writer = writable.getWriter();
  await writer.write(bytes);
  await writer.close();
}

function remember({ closeCode, reason }) {
  const path = join(import.meta.dirname, 'closed.json');
  writeFileSync(`${path}.part`, JSON.stringify({ closeCode, reason }));
  renameSync(`${path}.part`, path);
}
