export interface BackOff {
  /** Pause after the first failure, in milliseconds. */
  first: number;
  /** In milliseconds. */
  longest: number;
  /** Shortened by up to half at random, so that many who failed at the same time do not come again together. */
  jitter?: boolean;
}

/** How long to wait after `failures` failures beside the latest one, in milliseconds: each pause is twice the one before. */
export function backOffMs(failures: number, { first, longest, jitter = false }: BackOff): number {
  return Math.min(longest, first * 2 ** failures) * (jitter ? 0.5 + Math.random() / 2 : 1);
}
