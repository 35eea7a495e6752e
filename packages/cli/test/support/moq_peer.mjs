// A client of moq-lite as a process: `publish` or `watch`, with the address of a gateway or edge. It prints a line of JSON for each frame.
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { connectHttp3 } from '@sheaf/native';
import * as Moq from '@moq/net';

// `@moq/net` is made for browsers; Node 20 lacks two of their functions.
if (!('withResolvers' in Promise)) {
  Promise.withResolvers = () => {
    const functions = {};
    functions.promise = new Promise((resolve, reject) => Object.assign(functions, { resolve, reject }));
    return functions;
  };
}
if (!('difference' in Set.prototype)) {
  Set.prototype.difference = function (other) {
    return new Set([...this].filter((item) => !other.has(item)));
  };
}

const [framesPerGroup, frameMs, frameBytes] = [10, 20, 4_000];
const name = Moq.Path.from('studio');

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

async function connect(host, port) {
  const client = await connectHttp3({ host, port, alpn: ['h3'], insecure: true, webtransport: true });
  const session = await client.openWebTransport('/live', { 'wt-available-protocols': '"moq-lite-05"' });
  const transport = Object.assign(session, { protocol: 'moq-lite-05' });
  return Moq.Connection.connect(new URL(`https://${host}:${port}/live`), { transport });
}

async function publish(connection) {
  const broadcast = new Moq.Broadcast.Producer();
  const catalog = broadcast.createTrack('catalog.json');
  catalog.writeJson({ video: { renditions: { video: { codec: 'vp09.00.10.08' } } } });
  const video = broadcast.createTrack('video', { timescale: Moq.Time.Timescale(1_000) });
  connection.publish(name, broadcast);
  for (;;) {
    const group = video.appendGroup();
    for (let index = 0; index < framesPerGroup; index += 1) {
      const payload = randomBytes(frameBytes);
      group.writeFrame({ payload, timestamp: Moq.Time.Timestamp.fromMillis(Moq.Time.Milli(index * frameMs)) });
      print({ group: group.sequence, frame: index, sha256: sha256(payload) });
      await pause(frameMs);
    }
    group.close();
  }
}

async function watch(connection) {
  const announcements = connection.announced();
  for (;;) {
    const event = await announcements.next();
    if (event === undefined) throw new Error('the announcements ended');
    if (event.path === name && event.active) break;
  }
  const video = connection.consume(name).subscribe('video', { priority: 60 });
  for (;;) {
    const group = await video.recvGroup();
    if (!group) return;
    void readGroup(group);
  }
}

async function readGroup(group) {
  for (let index = 0; ; index += 1) {
    const frame = await group.readFrame();
    if (frame === undefined) return;
    print({ group: group.sequence, frame: index, sha256: sha256(frame.payload) });
  }
}

const [, , task, host, port] = process.argv;
const connection = await connect(host, Number(port));
await (task === 'publish' ? publish(connection) : watch(connection));
