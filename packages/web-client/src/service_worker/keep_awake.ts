// Browsers stop a worker, and with it the session, 30 s after its last event. They allow an event to last for 5
// minutes.
const AWAKE_MS = 120_000;
const RENEW_AFTER_MS = 15_000;

/** Keeps the worker, and thereby its session, alive for two minutes after the latest request. */
export class KeepAwake {
  private extendedAt = -Infinity;

  extend(event: { waitUntil(promise: Promise<unknown>): void }): void {
    const now = performance.now();
    if (now - this.extendedAt < RENEW_AFTER_MS) return;
    this.extendedAt = now;
    event.waitUntil(new Promise((resolve) => setTimeout(resolve, AWAKE_MS)));
  }
}
