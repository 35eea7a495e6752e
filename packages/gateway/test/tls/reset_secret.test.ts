import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { resetSecret } from '../../src/tls/reset_secret.js';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const pair = { certificate: '', privateKey: pem };
const listen = { address: '192.0.2.1', port: 443 };
const secret = resetSecret(pair, 'host', listen);

it('the secret of resets is the same for the same key, in whatever form, at the same address', () => {
  expect(secret).toHaveLength(32);
  expect(resetSecret(pair, 'host', { ...listen })).toEqual(secret);
  const sec1 = createPrivateKey(pem).export({ type: 'sec1', format: 'pem' }).toString();
  expect(resetSecret({ certificate: '', privateKey: sec1 }, 'host', listen)).toEqual(secret);
});

it('it is another one for each key, host, address and port', () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const others = [
    resetSecret(
      { certificate: '', privateKey: other.export({ type: 'pkcs8', format: 'pem' }).toString() },
      'host',
      listen,
    ),
    resetSecret(pair, 'host2', listen),
    resetSecret(pair, 'host', { ...listen, address: '192.0.2.2' }),
    resetSecret(pair, 'host', { ...listen, port: 444 }),
    resetSecret(pair, 'host', { ...listen, further: ['192.0.2.2'] }),
  ];
  const all = [secret, ...others].map((each) => each.toString('hex'));
  expect(new Set(all).size).toBe(6);
});

it('a malformed key makes none', () => {
  expect(() => resetSecret({ certificate: '', privateKey: 'nonsense' }, 'host', listen)).toThrow();
});
