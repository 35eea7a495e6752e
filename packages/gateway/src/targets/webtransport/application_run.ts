import type { WebTransportSession } from '@sheaf/native';
import { runOwned, type ErrorOwner, type StrayKind } from '../../errors/stray_errors.js';
import type { LoadedApplication } from './application.js';
import type { WebTransportContext } from './session.js';

export interface ApplicationRunOptions {
  application: LoadedApplication;
  session: WebTransportSession;
  context: WebTransportContext;
  route: string;
  onFailure(): void;
}

/** Runs an application with its session. Whatever it does wrong costs only that session. */
export class ApplicationRun implements ErrorOwner {
  readonly #options: ApplicationRunOptions;
  #failed = false;
  #over = false;

  constructor(options: ApplicationRunOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { application, session, context } = this.#options;
    void session.closed.then(() => {
      this.#over = true;
    });
    const run = async (): Promise<void> => application.run(session, context);
    try {
      // Only foreign code can leave stray errors behind, and the context has a cost.
      await (application.module === undefined ? run() : runOwned(this, run));
    } catch (error) {
      this.#fail(error, 'failure');
    }
  }

  onStrayError(error: unknown, kind: StrayKind): void {
    this.#fail(error, kind);
  }

  #fail(error: unknown, kind: StrayKind | 'failure'): void {
    const { application, session, context, route, onFailure } = this.#options;
    // An application that reads or writes when the session ends gets this error, which is no failure.
    if (this.#over && isSessionOver(error)) return;
    onFailure();
    // Writes only one line per session, since a client could make it fail again and again.
    if (this.#failed) return;
    this.#failed = true;
    const path = context.url.split('?', 1)[0];
    context.log.error(
      {
        err: error,
        kind,
        application: application.module ?? 'built in',
        route,
        path,
        remoteAddress: context.remoteAddress,
      },
      'WebTransport application failed',
    );
    session.close({ closeCode: 1, reason: 'application failed' });
  }
}

function isSessionOver(error: unknown): boolean {
  return (
    error instanceof Error && error.name === 'WebTransportError' && (error as { source?: unknown }).source === 'session'
  );
}
