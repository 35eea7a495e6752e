/** Runs work that Ctrl-C asks to stop, once: `onInterrupt` says so, and the work ends by its signal. */
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
