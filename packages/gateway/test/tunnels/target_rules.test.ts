import { expect, it } from 'vitest';
import { connectUdpOptions } from '../../src/schema/tunnels.js';
import { canonicalAddress } from '../../src/tunnels/addresses.js';
import { parseTarget, readAuthority, TargetRules } from '../../src/tunnels/target_rules.js';

const own = new Set(['203.0.114.9', '10.0.0.5', '127.0.0.1', '::1', '2a00::9']);
const rules = (...allow: string[]): TargetRules =>
  new TargetRules(connectUdpOptions.parse({ allow, clients: '0.0.0.0/0' }).allow, () => own);

it('reads targets of the default template', () => {
  expect(parseTarget('/www.Example.org/443/')).toEqual({ host: 'www.example.org', port: 443 });
  expect(parseTarget('/192.0.2.7/443')).toEqual({ host: '192.0.2.7', port: 443 });
  expect(parseTarget('/2001%3Adb8%3A%3A7/65535/')).toEqual({ host: '2001:db8::7', port: 65_535 });
  expect(parseTarget('/::ffff:127.0.0.1/443/')).toEqual({ host: '127.0.0.1', port: 443 });
});

it.each([
  '/',
  '/host/',
  '/host/0/',
  '/host/65536/',
  '/host/443/more',
  '/host/+443/',
  '/host/443x/',
  '/fe80%3A%3A1%25eth0/443/',
  '/%5B%3A%3A1%5D/443/',
  '/a%2Fb/443/',
  '/a%00b/443/',
  '/user@host/443/',
  '/%zz/443/',
  '/127.1/443/',
  '/2130706433/443/',
  '/0x7f000001/443/',
  '/127.0.0.0x1/443/',
  `/${'a'.repeat(64)}.org/443/`,
])('takes %s for no target', (rest) => expect(parseTarget(rest)).toBeUndefined());

it('gives an address one spelling', () => {
  expect(canonicalAddress('::FFFF:7f00:1')).toBe('127.0.0.1');
  expect(canonicalAddress('0:0:0:0:0:ffff:192.168.1.2')).toBe('192.168.1.2');
  expect(canonicalAddress('2001:DB8:0::1')).toBe('2001:db8::1');
  expect(canonicalAddress('fe80::1%eth0')).toBeUndefined();
  expect(canonicalAddress('localhost')).toBeUndefined();
});

it('permits nothing that no pattern names', () => {
  const some = rules('*.example.org:443', '8.8.0.0/16:53');
  const permits = (host: string, port: number, address = host): boolean => some.permits({ host, port }, address);
  expect(permits('www.example.org', 443, '93.184.216.34')).toBe(true);
  expect(permits('www.example.org', 80, '93.184.216.34')).toBe(false);
  expect(permits('example.org', 443, '93.184.216.34')).toBe(false);
  expect(permits('wwwexample.org', 443, '93.184.216.34')).toBe(false);
  expect(permits('8.8.8.8', 53)).toBe(true);
  expect(permits('8.8.8.8', 54)).toBe(false);
  expect(permits('dns.google', 53, '8.8.8.8')).toBe(true);
});

it.each([
  '127.0.0.1',
  '127.9.9.9',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '0.0.0.0',
  '224.0.0.251',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '3fff::1',
  '5f00::1',
  'fd00:ec2::254',
  'fd00::1',
  'fe80::1',
  'ff02::1',
  '203.0.114.9', // its own
  '2a00::9', // its own
])('a name that has the address %s leads nowhere, even where everything is allowed', (address) => {
  for (const everything of [rules('*'), rules('0.0.0.0/0', '[::/0]'), rules('rebinding.example')])
    expect(everything.permits({ host: 'rebinding.example', port: 443 }, address)).toBe(false);
});

it('permits private addresses, and its own, only where networks name them', () => {
  const permits = (allow: string, address: string): boolean =>
    rules(allow).permits({ host: 'x.example', port: 443 }, address);
  expect(permits('10.0.0.0/8:443', '10.1.2.3')).toBe(true);
  expect(permits('10.1.0.0/16', '10.1.2.3')).toBe(true);
  expect(permits('8.0.0.0/5', '10.1.2.3')).toBe(false); // more than the private range
  expect(permits('10.0.0.0/8', '10.0.0.5')).toBe(false); // its own
  expect(permits('10.0.0.5:443', '10.0.0.5')).toBe(true);
  expect(permits('127.0.0.1:443', '127.0.0.1')).toBe(true);
  expect(permits('127.0.0.1:443', '::ffff:127.0.0.1')).toBe(true);
  expect(permits('[::1]:443', '::1')).toBe(true);
  expect(permits('[fc00::/7]', 'fd00::1')).toBe(true);
  expect(permits('224.0.0.0/4', '224.0.0.251')).toBe(false); // many hosts
  expect(permits('0.0.0.0', '0.0.0.0')).toBe(false);
});

it('reads targets of CONNECT', () => {
  expect(readAuthority('www.Example.org:443')).toEqual({ host: 'www.example.org', port: 443 });
  expect(readAuthority('192.0.2.7:8080')).toEqual({ host: '192.0.2.7', port: 8080 });
  expect(readAuthority('[2001:DB8::7]:65535')).toEqual({ host: '2001:db8::7', port: 65_535 });
  expect(readAuthority('[::ffff:127.0.0.1]:443')).toEqual({ host: '127.0.0.1', port: 443 });
});

it.each([
  '',
  'www.example.org',
  'www.example.org:',
  'www.example.org:0',
  'www.example.org:65536',
  'www.example.org:443/',
  'http://www.example.org:443',
  'ann@www.example.org:443',
  '[www.example.org]:443',
  '[127.0.0.1]:443',
  '[fe80::1%eth0]:443',
  '::1:443',
  '0x7f000001:443',
  '127.1:443',
])('takes %j for no target of CONNECT', (authority) => expect(readAuthority(authority)).toBeUndefined());

it('asks for no name that nothing could permit', () => {
  expect(rules('*.example.org:443').mayPermit({ host: 'other.example', port: 443 })).toBe(false);
  expect(rules('*.example.org:443').mayPermit({ host: 'www.example.org', port: 443 })).toBe(true);
  expect(rules('10.0.0.0/8:443').mayPermit({ host: 'intern.example', port: 443 })).toBe(true);
  expect(rules('10.0.0.0/8:443').mayPermit({ host: 'intern.example', port: 53 })).toBe(false);
  expect(rules('*').mayPermit({ host: '127.0.0.1', port: 443 })).toBe(false);
});

it.each([
  '',
  '*.*',
  'host:0',
  'host:65536',
  '10.0.0.0/33',
  'fe80::1',
  '[www.example.org]:443',
  '1.2.3',
  'a b',
  'http://x',
])('the configuration refuses %j as a target', (allow) =>
  expect(connectUdpOptions.safeParse({ allow, clients: '0.0.0.0/0' }).success).toBe(false),
);

it('the configuration refuses a proxy for everybody that does not say so', () => {
  expect(connectUdpOptions.safeParse({ allow: '*' }).success).toBe(false);
  expect(connectUdpOptions.safeParse({ allow: '*', clients: '0.0.0.0/0' }).success).toBe(true);
  expect(connectUdpOptions.safeParse({ allow: '*', users: 'users.txt' }).success).toBe(true);
});
