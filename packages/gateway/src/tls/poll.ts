/** Calls `refresh` every `ms` milliseconds, each time after the call before has ended. Returns a function that ends this. */
export function poll(ms: number, refresh: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    timer = setTimeout(() => void again(), ms).unref();
  };
  const again = async (): Promise<void> => {
    await refresh();
    if (timer !== undefined) schedule();
  };
  schedule();
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}
