import type { Http3Client } from '@sheaf/native';

export interface Counts {
  requests: number;
  connections: number;
  failures: string[];
}

/** Requests the 1 KB of `makeSite`. Rejects when the response is different. */
export async function smallRequest(client: Http3Client): Promise<void> {
  const response = await client.request({ path: '/small' });
  const bytes = await new Promise<number>((resolve, reject) => {
    let sum = 0;
    response.on('data', (part: Buffer) => (sum += part.length));
    response
      .once('end', () => resolve(sum))
      .once('error', reject)
      .once('close', () => reject(new Error('the response was cut off')));
  });
  if (response.status !== 200 || bytes !== 1000) throw new Error(`status ${response.status} with ${bytes} bytes`);
}
