/** The round trip of one datagram; `milliseconds` is undefined while it is in flight */
export interface Trip {
  readonly sentAt: number;
  milliseconds: number | undefined;
  lost: boolean;
}

const INTERVAL_MS = 100;
// Far above any round-trip time; a datagram is never sent again.
const LOST_AFTER_MS = 2_000;
const KEPT_MS = 60_000;

/** Sends ten datagrams a second, and measures how long each takes to come back. */
export class Probe {
  returned = 0;
  lost = 0;
  private readonly trips = new Map<number, Trip>();
  private next = 0;

  constructor(private readonly send: (bytes: Uint8Array<ArrayBuffer>) => void) {}

  start(active: () => boolean): void {
    setInterval(() => {
      this.age(performance.now());
      if (active()) this.sendOne();
    }, INTERVAL_MS);
  }

  /** Records a datagram that came back. */
  receive(datagram: Uint8Array): void {
    if (datagram.length !== 4) return;
    const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
    const trip = this.trips.get(view.getUint32(0));
    if (trip === undefined || trip.milliseconds !== undefined || trip.lost) return;
    trip.milliseconds = performance.now() - trip.sentAt;
    this.returned += 1;
  }

  /** Returns the trips of the last minute, oldest first. */
  history(): readonly Trip[] {
    return [...this.trips.values()];
  }

  private sendOne(): void {
    const number = this.next++;
    this.trips.set(number, { sentAt: performance.now(), milliseconds: undefined, lost: false });
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, number);
    this.send(bytes);
  }

  private age(now: number): void {
    for (const [number, trip] of this.trips) {
      if (now - trip.sentAt > KEPT_MS) this.trips.delete(number);
      else if (trip.milliseconds === undefined && !trip.lost && now - trip.sentAt > LOST_AFTER_MS) {
        trip.lost = true;
        this.lost += 1;
      }
    }
  }
}
