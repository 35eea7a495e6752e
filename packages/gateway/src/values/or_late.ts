/** Resolves or rejects as the promise does. Rejects with `late()` when that takes longer than this time in milliseconds. */
export async function orLate<Value>(promise: Promise<Value>, ms: number, late: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_resolve, reject) => (timer = setTimeout(() => reject(late()), ms).unref()));
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
  }
}
