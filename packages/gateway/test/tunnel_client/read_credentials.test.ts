import { expect, it } from 'vitest';
import { readCredentials } from '../../src/tunnel_client/read_credentials.js';

it('credentials come from an environment variable', async () => {
  const read = (value?: string) => readCredentials({ environment: 'PROXY_USER' }, { PROXY_USER: value });
  expect(await read('ann:a password')).toEqual({ 'proxy-authorization': 'Basic YW5uOmEgcGFzc3dvcmQ=' });
  expect(await read('a-token')).toEqual({ 'proxy-authorization': 'Bearer a-token' });
  expect(await readCredentials(undefined, {})).toEqual({});
  for (const value of [undefined, '', 'ann:a\r\nx: y'])
    await expect(read(value)).rejects.toMatchObject({ code: 'CREDENTIALS_UNUSABLE' });
});
