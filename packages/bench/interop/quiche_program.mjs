// quiche (of @matrixai/quic, with BoringSSL) as the client of the checks that all implementations have, over hq-interop.
// Prints JSON.
//
//   quiche_program.mjs download [options] ADDRESS:PORT PATH…   all paths at once over one connection
import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const quiche = createRequire(import.meta.url)('@matrixai/quic-linux-x64');

const patienceMs = 100_000;
const maxDatagram = 1350;
const window = { connection: 10_000_000, stream: 1_000_000 };
const host = '127.0.0.1';
/** Its body says whether the gateway took the request out of 0-RTT: quiche does not know. */
const earlyPath = '/early';

function parse() {
  const flags = ['resume', 'early', 'large-hello', 'migrate'];
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      authority: { type: 'string' },
      connections: { type: 'string', default: '1' },
      ...Object.fromEntries(flags.map((flag) => [flag, { type: 'boolean', default: false }])),
    },
  });
  const [mode, server, ...paths] = positionals;
  if (mode !== 'download' || paths.length === 0) throw new Error('usage: see the first lines');
  return { ...values, connections: Number(values.connections), port: Number(server.split(':')[1]), paths };
}

function configurationOf(wanted) {
  const configuration = quiche.Config.withBoringSslCtx(true, false);
  configuration.loadVerifyLocationsFromFile(wanted.authority);
  configuration.verifyPeer(true);
  const padding = Array.from({ length: 100 }, (_, index) => `padding-${index}`);
  configuration.setApplicationProtos(['hq-interop', ...(wanted['large-hello'] ? padding : [])]);
  configuration.setMaxIdleTimeout(30_000);
  configuration.setMaxRecvUdpPayloadSize(maxDatagram);
  configuration.setMaxSendUdpPayloadSize(maxDatagram);
  configuration.setInitialMaxData(window.connection);
  configuration.setInitialMaxStreamDataBidiLocal(window.stream);
  configuration.setActiveConnectionIdLimit(4);
  if (wanted.early) configuration.enableEarlyData();
  return configuration;
}

/** A connection with its sockets, and what came on its streams. */
class Client {
  sockets = new Map();
  downloads = [];
  buffer = Buffer.alloc(65_536);
  migrated = false;

  constructor(wanted, session) {
    this.wanted = wanted;
    this.session = session;
    this.server = { host, port: wanted.port };
    this.ended = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
  }

  async connect() {
    const local = await this.openSocket();
    const configuration = configurationOf(this.wanted);
    this.connection = quiche.Connection.connect('localhost', randomBytes(16), local, this.server, configuration);
    if (this.session) this.connection.setSession(this.session);
    this.flush();
    this.proceed();
  }

  async openSocket() {
    const socket = createSocket('udp4');
    socket.bind(0, host);
    await once(socket, 'listening');
    const local = { host, port: socket.address().port };
    this.sockets.set(local.port, socket);
    socket.on('message', (datagram, { address, port }) => {
      if (this.connection.isClosed()) return;
      try {
        this.connection.recv(datagram, { from: { host: address, port }, to: local });
        this.proceed();
      } catch (error) {
        this.reject(error);
      }
    });
    return local;
  }

  proceed() {
    if (this.connection.isEstablished() || this.connection.isInEarlyData()) this.request();
    for (const stream of this.connection.readable()) this.read(this.downloads[stream / 4]);
    if (this.wanted.migrate) this.move();
    if (this.connection.isClosed()) return this.reject(new Error(`closed: ${this.connection.peerError()?.errorCode}`));
    const whole = this.downloads.length > 0 && this.downloads.every(({ finished }) => finished);
    if (whole && this.connection.isEstablished() && (!this.wanted.resume || this.connection.session())) this.resolve();
    this.flush();
  }

  request() {
    if (this.downloads.length > 0) return;
    const paths = this.wanted.early ? [...this.wanted.paths, earlyPath] : this.wanted.paths;
    for (const [index, path] of paths.entries()) {
      this.downloads.push({ path, stream: index * 4, bytes: 0, hash: createHash('sha256'), finished: false });
      this.connection.streamSend(index * 4, Buffer.from(`GET ${path}\r\n`), true);
    }
  }

  read(download) {
    while (!download.finished) {
      const part = this.connection.streamRecv(download.stream, this.buffer);
      if (part === null) return;
      const [length, finished] = part;
      download.hash.update(this.buffer.subarray(0, length));
      download.bytes += length;
      if (download.path === earlyPath) download.text = (download.text ?? '') + this.buffer.toString('utf8', 0, length);
      download.finished = finished;
      if (this.moved) this.migrated = true;
    }
  }

  /** Goes over to another port when the first bytes are here. */
  move() {
    const begun = this.downloads.some(({ bytes }) => bytes > 0);
    if (begun && !this.probed && this.connection.availableDcids() > 0) {
      this.probed = true;
      this.connection.newSourceCid(randomBytes(16), 0n, false);
      void this.openSocket().then((local) => {
        this.next = local;
        this.connection.probePath(local, this.server);
        this.flush();
      });
    }
    if (!this.next || this.moved || !this.connection.isPathValidated(this.next, this.server)) return;
    this.connection.migrate(this.next, this.server);
    this.moved = true;
  }

  flush() {
    for (let sent = this.connection.send(this.buffer); sent !== null; sent = this.connection.send(this.buffer)) {
      const [length, { from, to }] = sent;
      this.sockets.get(from.port).send(Buffer.from(this.buffer.subarray(0, length)), to.port, to.host);
    }
    clearTimeout(this.timer);
    const timeout = this.connection.timeout();
    if (timeout === null) return;
    this.timer = setTimeout(() => {
      this.connection.onTimeout();
      this.proceed();
    }, timeout);
  }

  async close() {
    this.connection.close(true, 0, Buffer.alloc(0));
    this.flush();
    clearTimeout(this.timer);
    // What was sent last is still with the sockets.
    await new Promise((resolve) => setImmediate(resolve));
    for (const socket of this.sockets.values()) socket.close();
  }

  report() {
    const early = this.downloads.some(({ text }) => text === 'early');
    const downloads = this.downloads
      .filter(({ path }) => this.wanted.paths.includes(path))
      .map(({ path, bytes, hash }) => ({ path, bytes, sha256: hash.digest('hex') }));
    return { resumed: this.connection.isResumed(), early, migrated: this.migrated, downloads };
  }
}

const wanted = parse();
setTimeout(() => {
  console.error('took too long');
  process.exit(1);
}, patienceMs).unref();
const reports = [];
let session;
for (let index = 0; index < wanted.connections; index += 1) {
  const client = new Client(wanted, session);
  await client.connect();
  await client.ended;
  if (wanted.resume) session = client.connection.session();
  reports.push(client.report());
  await client.close();
}
console.log(JSON.stringify(reports));
