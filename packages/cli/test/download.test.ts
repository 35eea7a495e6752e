import { QuicError } from '@sheaf/native';
import { expect, it } from 'vitest';
import { downloadRepeatedly, type Requester } from '../src/download/download.js';

const failingWith = (error: Error): Requester => ({ request: () => Promise.reject(error) });
const once = { repeat: 1, parallel: 1 };

// Which of the two comes is a race: before the server's SETTINGS are here, only the server knows its limit.
it.each([
  ['here', new Error('fields too large')],
  ['by the server', new QuicError('STREAM_RESET', 'the peer reset the stream (0x107)', 0x107)],
])('headers that are refused %s are a fault of the command line', async (_where, error) => {
  await expect(downloadRepeatedly(failingWith(error), { path: '/' }, once)).rejects.toMatchObject({ code: 'USAGE' });
});

it('another reset is not', async () => {
  const reset = new QuicError('STREAM_RESET', 'the peer reset the stream (0x102)', 0x102);
  await expect(downloadRepeatedly(failingWith(reset), { path: '/' }, once)).rejects.toMatchObject({
    code: 'REQUEST_FAILED',
  });
});
