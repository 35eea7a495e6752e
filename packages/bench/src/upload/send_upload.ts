import type { Http3Client } from '@sheaf/native';

/** Uploads a body of this many bytes. Returns the text of the response. */
export async function sendUpload(client: Http3Client, bytes: number): Promise<string> {
  const response = await client.request({ method: 'POST', path: '/', body: body(bytes) });
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}

// Bodies are asynchronous iterables, though this one has nothing to wait for.
// eslint-disable-next-line @typescript-eslint/require-await
async function* body(bytes: number): AsyncGenerator<Buffer> {
  const block = Buffer.alloc(1 << 18, 'sheaf ');
  for (let sent = 0; sent < bytes; sent += block.length) yield block.subarray(0, Math.min(block.length, bytes - sent));
}
