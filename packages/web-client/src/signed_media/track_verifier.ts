import type { Verify } from './ed25519.js';
import { GroupMatcher, type FrameCounts } from './group_matcher.js';
import { openStatement } from './statement.js';
import {
  signatureTrack,
  type BroadcastSource,
  type GroupSource,
  type MediaFrame,
  type ReadTime,
  type SubscribeOptions,
  type TrackSource,
} from './tracks.js';
import { Wakeup } from '../waiting/wakeup.js';

/** Groups of which frames are awaited at one time. A further one takes the place of one that proves nothing, or of the oldest. */
const maximumGroups = 4;

/** Frames that wait to be read. No more are taken from the subscription meanwhile. */
const maximumUnread = 64;

/** Statements of a group that may be refused. A publisher makes none. */
const maximumRefused = 16;

/** Groups that are remembered, so that no frame of them passes twice */
const maximumRemembered = 64;

export interface VerifyTrackOptions {
  readonly verify: Verify;
  /** Name of the broadcast, as its publisher signed it */
  readonly broadcast: string;
  readonly track: string;
  readonly source: BroadcastSource;
  /** How the node shall send the track */
  readonly subscription?: SubscribeOptions;
  /** Least run of the publisher that is taken, so that none from before can be replayed */
  readonly earliestRun?: number;
}

/** What passed the verification */
export type VerifiedEvent =
  | {
      readonly kind: 'frame';
      readonly group: number;
      /** Place in the group, from 0. A gap says that frames are missing. */
      readonly index: number;
      /** In units of which a second has `timescale` */
      readonly timestamp: number;
      readonly timescale: number;
      readonly payload: Uint8Array;
    }
  /** No more frames of this group come. Complete: they are all that the publisher signed, up to its end. */
  | { readonly kind: 'end'; readonly group: number; readonly complete: boolean };

/** A group whose frames and statements come in two streams */
interface OpenGroup {
  readonly sequence: number;
  readonly matcher: GroupMatcher;
  frames: GroupSource | undefined;
  statements: GroupSource | undefined;
  framesEnded: boolean;
  statementsEnded: boolean;
  /** Frames and statements that are at hand, and worked at */
  busy: number;
  over: boolean;
}

/**
 * Subscribes to a track and to its signatures, and yields what the publisher signed. The node that brings them is not trusted: it can
 * withhold frames and groups, which shows, and can delay them. Memory: for each of 4 groups 8 MiB of frames that wait for signatures, and
 * one frame; beside them frames that are not read yet, and what the subscription itself holds.
 */
export class TrackVerifier {
  readonly counts: FrameCounts = { verified: 0, forged: 0, unsigned: 0, missing: 0, refusedStatements: 0 };
  readonly #groups = new Map<number, OpenGroup>();
  readonly #changed = new Wakeup();
  readonly #events: VerifiedEvent[] = [];
  /** Groups of which frames passed, and that are over */
  readonly #remembered: number[] = [];
  /** Groups up to this number are over */
  #floor = -1;
  #run: number | undefined;
  #timescale = 0;
  #media: TrackSource;
  #signatures: TrackSource | undefined;
  #closed = false;
  #mediaEnded = false;
  /** Frames of a group are here, which has no place yet */
  #mediaWaits = false;
  #signaturesEnded = false;
  #error: Error | undefined;

  constructor(private readonly options: VerifyTrackOptions) {
    const { source, track, subscription = {} } = options;
    this.#media = source.subscribe(track, subscription);
    void this.#start();
  }

  /** The run of the publisher, when a statement has told it */
  get run(): number | undefined {
    return this.#run;
  }

  /** Returns what comes next. Undefined: the track has ended. Rejects when it failed, after all that passed. */
  async next(): Promise<VerifiedEvent | undefined> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) {
        this.#changed.notify();
        return event;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#mediaEnded && this.#groups.size === 0) return undefined;
      await this.#changed.wait();
    }
  }

  /** Ends the subscriptions. */
  close(): void {
    this.#closed = true;
    this.#mediaEnded = true;
    this.#media.close();
    this.#signatures?.close();
    for (const group of [...this.#groups.values()]) this.#finish(group);
    this.#changed.notify();
  }

  async #start(): Promise<void> {
    try {
      this.#timescale = (await this.#media.info()).timescale;
      const first = await this.#media.recvGroup();
      if (first !== undefined && !this.#closed) {
        // From the group before on: the first stream that arrives need not be that of the first group.
        void this.#readSignatures(Math.max(0, first.sequence - 1));
        await this.#readMedia(first);
      }
    } catch (error) {
      if (!this.#closed) this.#error = error instanceof Error ? error : new Error(String(error));
    }
    this.#mediaEnded = true;
    for (const group of [...this.#groups.values()]) if (group.frames === undefined) this.#finish(group);
    this.#endIfOver();
  }

  async #readMedia(first: GroupSource): Promise<void> {
    for (let source: GroupSource | undefined = first; source; source = await this.#media.recvGroup()) {
      this.#mediaWaits = true;
      const group = await this.#open(source.sequence, true);
      this.#mediaWaits = false;
      this.#changed.notify();
      if (group === undefined || group.frames !== undefined) source.close();
      else {
        group.frames = source;
        void this.#readFrames(group, source);
      }
    }
  }

  async #readSignatures(startGroup: number): Promise<void> {
    const { source: broadcast, track, subscription } = this.options;
    try {
      // Statements are small, and frames wait for them.
      const signatures = broadcast.subscribe(signatureTrack(track), { ...subscription, priority: 255, startGroup });
      this.#signatures = signatures;
      for (let source = await signatures.recvGroup(); source; source = await signatures.recvGroup()) {
        const group = await this.#open(source.sequence, false);
        if (group === undefined || group.statements !== undefined) source.close();
        else {
          group.statements = source;
          void this.#readStatements(group, source);
        }
      }
    } catch {
      // Frames without signatures count as such, whatever the reason is.
    }
    this.#signaturesEnded = true;
    for (const group of [...this.#groups.values()]) {
      group.statementsEnded ||= group.statements === undefined;
      this.#settle(group);
    }
  }

  /** Returns the group of this number, once there is room for it. Undefined: it is over. */
  async #open(sequence: number, isMedia: boolean): Promise<OpenGroup | undefined> {
    for (;;) {
      const known = this.#groups.get(sequence);
      if (known) return known;
      if (this.#mediaEnded || sequence <= this.#floor || this.#remembered.includes(sequence)) return undefined;
      if (this.#groups.size < maximumGroups) return this.#add(sequence);
      // What came already is worked at first.
      await new Promise((resolve) => setTimeout(resolve));
      // Statements push out no group whose frames are here, and wait for their place.
      const isEarly = this.#mediaWaits && !isMedia;
      if (isEarly || !this.#makeRoom()) await this.#changed.wait();
    }
  }

  #add(sequence: number): OpenGroup {
    const group: OpenGroup = {
      sequence,
      matcher: new GroupMatcher(this.counts, ({ timestamp, payload }, index) =>
        this.#events.push({ kind: 'frame', group: sequence, index, timestamp, timescale: this.#timescale, payload }),
      ),
      frames: undefined,
      statements: undefined,
      framesEnded: false,
      statementsEnded: this.#signaturesEnded,
      busy: 0,
      over: false,
    };
    this.#groups.set(sequence, group);
    return group;
  }

  /**
   * Ends a group that waits for the node, for another one. Numbers that a node made up push out no group that proves itself. Returns false
   * when all groups are worked at.
   */
  #makeRoom(): boolean {
    if (this.#groups.size < maximumGroups) return true;
    const [first] = [...this.#groups.values()]
      .filter(({ busy }) => busy === 0)
      .sort(
        (left, right) =>
          Number(left.matcher.isProven) - Number(right.matcher.isProven) || left.sequence - right.sequence,
      );
    if (first === undefined) return false;
    this.#finish(first);
    return true;
  }

  async #readFrames(group: OpenGroup, source: GroupSource): Promise<void> {
    try {
      for (let frame = await source.readFrame(); frame && !group.over; frame = await source.readFrame())
        await this.#work(group, () => this.#takeFrame(group, frame));
    } catch {
      // A group that is cut off has no end that is signed, or lacks frames before it.
    }
    group.framesEnded = true;
    this.#settle(group);
  }

  async #readStatements(group: OpenGroup, source: GroupSource): Promise<void> {
    let refused = 0;
    try {
      for (let frame = await source.readFrame(); frame && !group.over; frame = await source.readFrame()) {
        // A node that brings no frames for them does not keep the place.
        while (!group.matcher.hasRoom && !group.framesEnded && !group.over) await this.#changed.wait();
        if (!group.matcher.hasRoom) break;
        const isGenuine = await this.#work(group, () => this.#takeStatement(group, frame.payload));
        if (!isGenuine) refused += 1;
        if (refused >= maximumRefused) break;
      }
    } catch {
      // What was signed until then counts.
    }
    source.close();
    group.statementsEnded = true;
    this.#settle(group);
  }

  /** Works at something that came of a group, when there is room for what passes. */
  async #work<Result>(group: OpenGroup, act: () => Promise<Result>): Promise<Result> {
    group.busy += 1;
    try {
      while (this.#events.length >= maximumUnread && !group.over) await this.#changed.wait();
      return await act();
    } finally {
      group.busy -= 1;
      this.#settle(group);
    }
  }

  async #takeFrame(group: OpenGroup, { payload, timestamp }: MediaFrame<ReadTime>): Promise<void> {
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', payload));
    if (!group.over) group.matcher.addFrame({ timestamp: timestamp.value, hash, payload });
  }

  /** Returns whether the statement is one of the publisher about this group. */
  async #takeStatement(group: OpenGroup, bytes: Uint8Array): Promise<boolean> {
    const { verify, broadcast, track, earliestRun = 0 } = this.options;
    const name = { broadcast, track, group: group.sequence, timescale: this.#timescale };
    const statement = await openStatement(verify, name, bytes);
    if (group.over) return true;
    const isOfRun = statement && statement.run >= earliestRun && statement.run === (this.#run ?? statement.run);
    if (!isOfRun || !group.matcher.addStatement(statement)) {
      this.counts.refusedStatements += 1;
      return false;
    }
    this.#run = statement.run;
    return true;
  }

  /** Ends a group of which nothing more can come. */
  #settle(group: OpenGroup): void {
    const { matcher, framesEnded, statementsEnded } = group;
    if (framesEnded && (statementsEnded || matcher.isEndSigned)) this.#finish(group);
    this.#changed.notify();
  }

  #finish(group: OpenGroup): void {
    if (group.over) return;
    group.over = true;
    const { sequence, matcher, frames, statements } = group;
    const [complete, hasPassed] = [matcher.isWhole, matcher.hasPassed];
    // The node need not bring frames of the group before the first one, and may bring others later.
    if (frames !== undefined) matcher.end();
    this.#groups.delete(sequence);
    frames?.close();
    statements?.close();
    if (hasPassed) {
      this.#remember(sequence);
      this.#events.push({ kind: 'end', group: sequence, complete });
    }
    this.#endIfOver();
  }

  /** Ends the subscription to signatures when nothing is left that they could be about. */
  #endIfOver(): void {
    if (this.#mediaEnded && this.#groups.size === 0) this.#signatures?.close();
    this.#changed.notify();
  }

  #remember(sequence: number): void {
    this.#remembered.push(sequence);
    if (this.#remembered.length <= maximumRemembered) return;
    const oldest = Math.min(...this.#remembered);
    this.#remembered.splice(this.#remembered.indexOf(oldest), 1);
    this.#floor = Math.max(this.#floor, oldest);
  }
}
