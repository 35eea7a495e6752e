import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { addressesOf, asResolutionError, resolveByDns } from '../../src/tunnels/target_addresses.js';

const typeA = 1;
const typeAaaa = 28;
const headerSize = 12;
const nameError = 3;

/** What a name server says about a name: addresses in the bytes of DNS, a code, or nothing */
type Answer = { type: number; address: number[] }[] | number | undefined;

/** Starts a name server. Returns its address, and the questions that it got. */
async function nameServer(answer: (name: string, type: number, nth: number) => Answer) {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    let at = headerSize;
    const labels: string[] = [];
    for (let size = query[at]!; size > 0; size = query[at]!) {
      labels.push(query.toString('latin1', at + 1, at + 1 + size));
      at += 1 + size;
    }
    const end = at + 5;
    const type = query.readUInt16BE(at + 1);
    const name = labels.join('.').toLowerCase();
    questions.push(`${name} ${type}`);
    const said = answer(name, type, questions.filter((each) => each === `${name} ${type}`).length);
    if (said === undefined) return;
    const records = typeof said === 'number' ? [] : said.filter((each) => each.type === type);
    const header = Buffer.alloc(headerSize);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 + (typeof said === 'number' ? said : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    const bodies = records.map(({ address }) =>
      Buffer.from([0xc0, headerSize, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length, ...address]),
    );
    socket.send(Buffer.concat([header, query.subarray(headerSize, end), ...bodies]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return { servers: [`127.0.0.1:${socket.address().port}`], questions };
}

const mapped = (...four: number[]): number[] => [...new Array<number>(10).fill(0), 0xff, 0xff, ...four];

it('returns the addresses of both families, and asks once for each', async () => {
  const { servers, questions } = await nameServer(() => [
    { type: typeA, address: [93, 184, 216, 34] },
    { type: typeAaaa, address: [0x2a, ...new Array<number>(14).fill(0), 1] },
  ]);
  expect(await addressesOf('www.example', resolveByDns(servers))).toEqual(['2a00::1', '93.184.216.34']);
  expect(questions.sort()).toEqual(['www.example 1', 'www.example 28']);
});

it('a name that rebinds shows its first addresses alone to one request', async () => {
  const { servers } = await nameServer((_name, type, nth) =>
    type === typeA ? [{ type, address: nth === 1 ? [93, 184, 216, 34] : [127, 0, 0, 1] }] : [],
  );
  const resolve = resolveByDns(servers);
  expect(await addressesOf('rebinding.example', resolve)).toEqual(['93.184.216.34']);
  expect(await addressesOf('rebinding.example', resolve)).toEqual(['127.0.0.1']);
});

it('returns IPv4 addresses in the form of IPv6 as they are, so that they can be judged', async () => {
  const { servers } = await nameServer(() => [{ type: typeAaaa, address: mapped(10, 0, 0, 1) }]);
  expect(await addressesOf('mapped.example', resolveByDns(servers))).toEqual(['::ffff:10.0.0.1']);
});

it('asks nobody for an address', async () => {
  const { servers, questions } = await nameServer(() => []);
  expect(await addressesOf('::ffff:10.0.0.1', resolveByDns(servers))).toEqual(['10.0.0.1']);
  expect(questions).toEqual([]);
});

it('asks nobody but the name servers', async () => {
  const { servers } = await nameServer(() => nameError);
  const failure = addressesOf('localhost', resolveByDns(servers));
  await expect(failure).rejects.toMatchObject({ status: 502, proxyStatus: 'error=dns_error; rcode="NXDOMAIN"' });
});

it('waits for name servers that say nothing only so long', async () => {
  const { servers } = await nameServer(() => undefined);
  const failure = addressesOf('silent.example', resolveByDns(servers, 20));
  await expect(failure).rejects.toMatchObject({ status: 504, proxyStatus: 'error=dns_timeout' });
});

it.each([
  [['ENODATA', 'ENODATA'], 502, 'error=dns_error'],
  [['ENODATA', 'ESERVFAIL'], 502, 'error=dns_error; rcode="SERVFAIL"'],
  [['ETIMEOUT', 'ENOTFOUND'], 504, 'error=dns_timeout'],
])('names %j', (codes, status, proxyStatus) => expect(asResolutionError(codes)).toMatchObject({ status, proxyStatus }));
