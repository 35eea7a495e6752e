/** Frames of a group of the demo's publisher, as long as no complete one has come */
const USUAL_FRAMES = 25;

/** Counts frames that came, and those that did not although later ones did. */
export class Reception {
  received = 0;
  lost = 0;
  /** Frames of each complete group, by its number */
  readonly groups = new Map<number, number>();
  private newest: number | undefined;
  private usual = USUAL_FRAMES;

  add(): void {
    this.received += 1;
  }

  /** Forgets which group came last: another broadcast begins. */
  restart(): void {
    this.newest = undefined;
    this.groups.clear();
  }

  groupEnd(group: number, frames: number, complete: boolean): void {
    if (this.newest !== undefined && group > this.newest + 1) this.lost += (group - this.newest - 1) * this.usual;
    this.newest = Math.max(group, this.newest ?? group);
    if (!complete) {
      this.lost += Math.max(1, this.usual - frames);
      return;
    }
    this.usual = frames;
    this.groups.set(group, frames);
    // An hour, for those who compare
    this.groups.delete(group - 3_600);
  }
}
