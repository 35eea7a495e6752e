/** Runs work that Ctrl-C stops. The first Ctrl-C calls `onInterrupt` and aborts the signal, by which the work ends. */
export async function untilInterrupted<Result>(
  onInterrupt: () => void,
  work: (stop: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const onSignal = (): void => {
    onInterrupt();
    stop.abort();
  };
  process.once('SIGINT', onSignal);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', onSignal);
  }
}
