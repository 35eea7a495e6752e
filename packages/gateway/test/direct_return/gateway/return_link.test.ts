import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type * as native from '@sheaf/native';
import type { ServerRequest } from '@sheaf/native';
import { pino } from 'pino';
import { beforeEach, expect, it, vi } from 'vitest';
import { ReturnLink } from '../../../src/direct_return/gateway/return_link.js';
import { decodeGrantHeader } from '../../../src/direct_return/protocol/return_headers.js';
import { GrantOpener, nameOfSession } from '../../../src/direct_return/protocol/sealed_grant.js';
import type { BackboneLink } from '../../../src/multi_end/backbone/backbone_link.js';
import { BackboneViolation } from '../../../src/multi_end/backbone/byte_fields.js';
import { Channel } from '../../../src/multi_end/backbone/channel.js';
import { MessageReader } from '../../../src/multi_end/backbone/message_reader.js';
import { runBytes, type BackboneMessage } from '../../../src/multi_end/backbone/messages.js';
import { grantKeyKind, loadSodium, Opener, sessionBytes } from '../../../src/multi_end/backbone/sealed_message.js';
import { NodeKey } from '../../../src/values/node_key.js';

const plain = 'a grant';
let sessions = 0;
vi.mock('@sheaf/native', async (original) => ({
  ...(await original<typeof native>()),
  openRunOrders: () => {
    sessions += 1;
    return { close: () => (sessions -= 1) };
  },
  offerResponse: () => Buffer.from(plain),
}));

const gateway = NodeKey.generate();
const backend = NodeKey.generate();
const sodium = await loadSodium();
const request = {} as ServerRequest;

let link: EventEmitter;
let returns: ReturnLink;
beforeEach(() => {
  sessions = 0;
  link = new EventEmitter();
  returns = new ReturnLink({
    link: link as unknown as BackboneLink,
    key: gateway,
    sodium,
    run: randomBytes(runBytes),
    log: pino({ level: 'silent' }),
  });
});

/** Connects to the backend. Returns the channel, and what the gateway wrote to it. */
function connect(): { channel: Channel; sent: BackboneMessage[] } {
  const sent: BackboneMessage[] = [];
  const reader = new MessageReader();
  const session = { sender: gateway.publicKey, receiver: backend.publicKey, session: randomBytes(sessionBytes) };
  const channel = new Channel('backend1', session, randomBytes(runBytes).toString('hex'), {
    backlog: 0,
    write: (bytes) => void sent.push(...reader.read(bytes)),
    end: () => undefined,
  });
  link.emit('open', channel, {});
  return { channel, sent };
}

/** Opens a header as the backend does. */
function opened(grant: ReturnType<ReturnLink['grant']>, { channel, sent }: ReturnType<typeof connect>): string {
  const [first] = sent;
  if (first?.type !== 'grant_key') throw new Error('the key comes first');
  const key = new Opener(backend, channel.session, sodium, grantKeyKind).open(first.sealed);
  const opener = new GrantOpener(key, nameOfSession(channel.session));
  return opener.open(decodeGrantHeader('header' in grant ? grant.header : '')!).toString();
}

it('grants once the backend has the key', () => {
  expect([returns.open, returns.grant(request)]).toEqual([false, { refusal: 'ended' }]);
  const connection = connect();
  expect(connection.sent).toMatchObject([{ type: 'grant_key' }]);
  expect([returns.open, returns.grant(request)]).toEqual([false, { refusal: 'ended' }]);
  connection.channel.receive({ type: 'grant_key_taken', ownRecovery: false });
  expect(returns.open).toBe(true);
  expect(opened(returns.grant(request), connection)).toBe(plain);
});

it('waits again after each new connection', () => {
  connect().channel.receive({ type: 'grant_key_taken', ownRecovery: false });
  link.emit('close', 'cut');
  expect([returns.open, returns.grant(request), sessions]).toEqual([false, { refusal: 'ended' }, 0]);
  const next = connect();
  expect([returns.open, returns.grant(request), sessions]).toEqual([false, { refusal: 'ended' }, 1]);
  next.channel.receive({ type: 'grant_key_taken', ownRecovery: false });
  expect(opened(returns.grant(request), next)).toBe(plain);
});

it('refuses what no backend sends', () => {
  const { channel } = connect();
  expect(() => channel.receive({ type: 'drain', drains: true })).toThrow(BackboneViolation);
  channel.receive({ type: 'grant_key_taken', ownRecovery: false });
  expect(() => channel.receive({ type: 'grant_key_taken', ownRecovery: false })).toThrow(BackboneViolation);
});
