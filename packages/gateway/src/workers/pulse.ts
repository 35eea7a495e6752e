/** Interval in milliseconds at which a thread is asked for a sign of life */
const everyMs = 10_000;
/** Intervals without one, after which its event loop counts as stuck. Intervals are counted, as a process that stood still has only one. */
const most = 3;

/**
 * Calls `onSilence` once a thread gives no sign of life. `beat` asks for one, and is fulfilled when it comes. Returns a function that
 * ends this.
 */
export function watchPulse(beat: () => Promise<unknown>, onSilence: () => void): () => void {
  let silent = 0;
  let asked = false;
  const ask = (): void => {
    if (asked) return;
    asked = true;
    const heard = (): void => {
      asked = false;
      silent = 0;
    };
    // One that has ended is none that is stuck.
    beat().then(heard, heard);
  };
  const timer = setInterval(() => {
    if (asked) silent += 1;
    if (silent < most) return ask();
    clearInterval(timer);
    onSilence();
  }, everyMs).unref();
  ask();
  return () => clearInterval(timer);
}
