import { TokenBucket } from 'limiter';

/** Returns a rate limit of `perSecond`. Unused tokens are kept, up to `burst`, and as many are there at first. */
export function fullBucket(perSecond: number, burst: number): TokenBucket {
  const bucket = new TokenBucket({ bucketSize: burst, tokensPerInterval: perSecond, interval: 'second' });
  bucket.content = burst;
  return bucket;
}
