import { exitCodes, type RunningNode } from '@sheaf/gateway';
import { printNotice, type World } from './world.js';

/** What else learns of the life of nodes that serve */
export interface ServeSteps {
  /** Announces that the nodes serve. */
  announce(): Promise<void>;
  /** Tells that the nodes drain. */
  draining?(): void;
  /** Resolves when the nodes are to end without a signal. */
  over?: Promise<void>;
}

const never = new Promise<void>(() => undefined);

/**
 * Announces the nodes, waits for Ctrl-C, SIGTERM or `over`, and drains the nodes. A second signal ends the process at once.
 * Resolves with the exit code.
 */
export async function serveUntilSignal(
  nodes: readonly Pick<RunningNode, 'close'>[],
  world: World,
  { announce, draining, over = never }: ServeSteps,
): Promise<number> {
  let stop = (): void => undefined;
  const first = new Promise<'SIGINT' | 'SIGTERM'>((resolve) => {
    let signals = 0;
    stop = world.onSignal((signal) => {
      signals += 1;
      if (signals === 1) resolve(signal);
      else world.exit(exitCodes.interrupted);
    });
  });
  // Scripts may send a signal as soon as they read that the nodes are ready.
  await Promise.race([announce(), first]);
  const signal = await Promise.race([first, over]);
  draining?.();
  if (signal) await printNotice(world.stderr, signal === 'SIGINT' ? 'draining; Ctrl-C again ends at once' : 'draining');
  await Promise.all(nodes.map((node) => node.close()));
  stop();
  return exitCodes.success;
}
