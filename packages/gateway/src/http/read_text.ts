import type { ClientResponse } from '@sheaf/native';

/** Reads the body of a response as UTF-8. Rejects when it has more than `most` bytes. */
export async function readText(response: ClientResponse, most: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > most) throw new Error(`the response is larger than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
