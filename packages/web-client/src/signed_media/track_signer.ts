import type { Signer } from './ed25519.js';
import { MAXIMUM_FLIGHT, signStatement } from './statement.js';
import { signatureTrack, type GroupSink, type MediaFrame, type TrackSink, type WrittenTime } from './tracks.js';

export interface SignTrackOptions<Time extends WrittenTime> {
  readonly signer: Signer;
  /** Name of the broadcast, as viewers ask for it */
  readonly broadcast: string;
  /**
   * Has to be larger than that of each earlier run of this publisher, whose groups had the same numbers: the time in milliseconds since
   * 1970 serves.
   */
  readonly run: number;
  readonly media: TrackSink<Time>;
  /** Its track of signatures, with the same properties. Nobody else may add groups to either of them. */
  readonly signatures: TrackSink<Time>;
}

/** A track whose frames are signed in a track beside it. Both have the same groups. */
export class TrackSigner<Time extends WrittenTime> {
  constructor(private readonly options: SignTrackOptions<Time>) {
    const { media, signatures } = options;
    if (signatures.name !== signatureTrack(media.name))
      throw new RangeError(`signatures of the track ${media.name} belong to ${signatureTrack(media.name)}`);
  }

  get name(): string {
    return this.options.media.name;
  }

  appendGroup(): SignedGroup<Time> {
    const { media, signatures } = this.options;
    const [group, statements] = [media.appendGroup(), signatures.appendGroup()];
    if (group.sequence !== statements.sequence)
      throw new Error(`the group ${group.sequence} would have its signatures in ${statements.sequence}`);
    return new SignedGroup(this.options, group, statements);
  }
}

/**
 * A group that is sent as it is written. Signatures follow: all frames that were written while the signature before was made have one
 * together. So signing delays no frame, and a signature costs the less for each frame the faster they come.
 */
export class SignedGroup<Time extends WrittenTime> {
  readonly #waiting: MediaFrame<Time>[] = [];
  #signed = 0;
  #time: Time | undefined;
  #closed = false;
  #ended = false;
  #running: Promise<void> | undefined;

  constructor(
    private readonly options: SignTrackOptions<Time>,
    private readonly media: GroupSink<Time>,
    private readonly statements: GroupSink<Time>,
  ) {}

  get sequence(): number {
    return this.media.sequence;
  }

  /** Sends a frame. Its payload must not change afterwards. */
  writeFrame(frame: MediaFrame<Time>): void {
    this.media.writeFrame(frame);
    this.#waiting.push(frame);
    this.#proceed();
  }

  /** Ends the group. Resolves when its end is signed; rejects when it could not be. */
  async close(): Promise<void> {
    this.media.close();
    this.#closed = true;
    this.#proceed();
    await this.#running;
  }

  #proceed(): void {
    this.#running ??= this.#run();
    // Who wants to know why frames are not signed asks `close`.
    this.#running.catch(() => undefined);
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#state();
      if (this.#closed) await this.#end();
      else this.#running = undefined;
    } catch (error) {
      this.statements.close(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  /** Signs the frames that wait. */
  async #state(): Promise<void> {
    const { signer, broadcast, run, media } = this.options;
    const flight = this.#waiting.splice(0, MAXIMUM_FLIGHT);
    const [first, last] = [this.#signed, this.#closed && this.#waiting.length === 0];
    this.#signed += flight.length;
    this.#time = flight.at(-1)?.timestamp ?? this.#time;
    const { timescale } = await media.info();
    const frames = await Promise.all(
      flight.map(async ({ payload, timestamp }) => ({
        // As frames have it on the wire
        timestamp: Math.round(timestamp.as(timescale)),
        hash: new Uint8Array(await crypto.subtle.digest('SHA-256', payload)),
      })),
    );
    const name = { broadcast, track: media.name, group: this.sequence, timescale };
    const payload = await signStatement(signer, name, { run, first, frames, last });
    this.statements.writeFrame({ payload, timestamp: this.#time! });
    this.#ended = last;
  }

  async #end(): Promise<void> {
    // Without frames there is no time for a statement, and nothing that could be cut off.
    if (!this.#ended && this.#signed > 0) await this.#state();
    this.statements.close();
  }
}
