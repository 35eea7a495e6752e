/** A body without bytes, for a request whose stream the engine serves. It ends when `end` is called. */
export function headBody(): { body: AsyncIterable<Uint8Array>; end: () => void } {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({ next: () => ended.then(() => ({ done: true, value: undefined })) }),
  };
  return { body, end };
}
