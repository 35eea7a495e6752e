import { UserError } from '@sheaf/gateway';

/** Takes a program that was started, and stops it when the work ends, or takes too long. */
export type Own = <Started extends { stop(): Promise<void> }>(program: Started) => Started;

export interface Patience {
  /** Longest time of the work */
  seconds: number;
  /** What is wrong when it takes longer */
  late: string;
  /** Ends the work early. */
  cancel: AbortSignal;
}

/** Lets work own programs, which are stopped behind it, or when patience is over. @throws UserError */
export async function withPrograms<Result>(
  { seconds, late, cancel }: Patience,
  work: (own: Own) => Promise<Result>,
): Promise<Result> {
  const owned: { stop(): Promise<void> }[] = [];
  const stop = (): Promise<unknown> => Promise.all(owned.map((program) => program.stop()));
  let over: string | undefined;
  const giveOver = (reason: string) => (): void => {
    over = reason;
    void stop();
  };
  const onCancel = giveOver('stopped');
  const timer = setTimeout(giveOver(`${late} after ${Math.round(seconds)} s`), seconds * 1000);
  cancel.addEventListener('abort', onCancel, { once: true });
  try {
    return await work((program) => {
      owned.push(program);
      return program;
    });
  } catch (error) {
    // What ended its programs is why they failed.
    throw over === undefined ? error : new UserError('BENCH_FAILED', over);
  } finally {
    clearTimeout(timer);
    cancel.removeEventListener('abort', onCancel);
    await stop();
  }
}
