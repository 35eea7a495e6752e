export interface BackOff {
  /** Pause after the first failure, in milliseconds. */
  first: number;
  /** Longest pause, in milliseconds */
  longest: number;
  /** Shortens each pause at random by up to half, so that clients that failed together do not return together. */
  jitter?: boolean;
}

/**
 * Returns the pause after `failures` failures beside the latest one, in milliseconds. Each pause is twice the one
 * before.
 */
export function backOffMs(failures: number, { first, longest, jitter = false }: BackOff): number {
  return Math.min(longest, first * 2 ** failures) * (jitter ? 0.5 + Math.random() / 2 : 1);
}
