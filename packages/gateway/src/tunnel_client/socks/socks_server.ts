import { createServer, type Socket } from 'node:net';
import { LocalListener } from '../local_listener.js';
import type { RefusalCause } from '../refused.js';
import type { TcpTunnels } from '../tcp_tunnels.js';
import type { UdpRelays } from '../udp_relays.js';
import { SocksHandshake, socksReplies, socksReply, type SocksStep } from './handshake.js';

/** Milliseconds for the handshake of a program */
const handshakeMs = 10_000;

const replies: Readonly<Record<RefusalCause, number>> = {
  gateway: socksReplies.networkUnreachable,
  draining: socksReplies.networkUnreachable,
  credentials: socksReplies.generalFailure,
  forbidden: socksReplies.notAllowed,
  name: socksReplies.hostUnreachable,
  refused: socksReplies.connectionRefused,
  unreachable: socksReplies.hostUnreachable,
  busy: socksReplies.generalFailure,
  other: socksReplies.generalFailure,
};

/** Makes a port that speaks SOCKS5 (RFC 1928) with the commands CONNECT and UDP ASSOCIATE. */
export function socksServer(tunnels: TcpTunnels, relays: UdpRelays): LocalListener {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    readHandshake(socket, (step) => {
      if (step.type === 'connect') return lead(tunnels, socket, step);
      if (step.type === 'associate') return void associate(relays, socket, step.port);
      listener.noteRefused();
      endWith(socket, step.bytes ?? '');
    });
  });
  const listener = new LocalListener(server, { kind: 'socks5' });
  return listener;
}

/** Sends the last bytes of a connection. */
function endWith(socket: Socket, bytes: Buffer | string): void {
  socket.end(bytes);
  socket.destroySoon();
}

type LastStep = Exclude<SocksStep, { type: 'more' | 'answer' }>;

/** Answers a handshake, and calls `onDone` once with its last step. */
function readHandshake(socket: Socket, onDone: (step: LastStep) => void): void {
  const handshake = new SocksHandshake();
  const done = (step: LastStep): void => {
    clearTimeout(limit);
    socket.off('data', read).off('end', leave).pause();
    onDone(step);
  };
  const leave = (): void => done({ type: 'end', bytes: undefined });
  const limit = setTimeout(leave, handshakeMs);
  const read = (bytes: Buffer): void => {
    handshake.push(bytes);
    for (let step = handshake.next(); step.type !== 'more'; step = handshake.next()) {
      if (step.type !== 'answer') return done(step);
      socket.write(step.bytes);
    }
  };
  socket.on('data', read).once('end', leave);
  socket.once('close', () => clearTimeout(limit));
}

function lead(tunnels: TcpTunnels, socket: Socket, { target, rest }: Extract<SocksStep, { type: 'connect' }>): void {
  if (rest.length > 0) socket.unshift(rest);
  void tunnels.carry(socket, target, {
    kind: 'socks5',
    accept: () => socket.write(socksReply(socksReplies.succeeded)),
    refuse: ({ why }) => endWith(socket, socksReply(replies[why])),
  });
}

/** Opens a relay for UDP, which lasts until the program ends its connection (RFC 1928 §7). Never rejects. */
async function associate(relays: UdpRelays, socket: Socket, port: number): Promise<void> {
  const refuse = (reply: number): void => endWith(socket, socksReply(reply));
  try {
    const address = await relays.open(socket, port);
    if (!address) {
      refuse(socksReplies.generalFailure);
      return;
    }
    socket.write(socksReply(socksReplies.succeeded, address));
    // What it says now has no meaning.
    socket.resume().once('end', () => socket.destroy());
  } catch {
    refuse(socksReplies.networkUnreachable);
  }
}
