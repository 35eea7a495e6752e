import { CREDENTIALS_HEADER, type Credentials } from '../protocol/index.js';

/** Paths that turned out to need credentials; a site's dynamic pages are far fewer. */
const MAX_PATHS = 1_000;

export interface CredentialSources {
  /** Asks the gateway whether the browser sends it cookies. @throws TypeError when it cannot be asked. */
  ask(): Promise<boolean>;
  /** Cookies of the site that scripts may see; undefined where the browser does not tell. */
  cookies?(): Promise<readonly unknown[]>;
}

/**
 * Keeps track of whether the visitor has cookies or is logged in. A worker sees neither cookies that
 * are HttpOnly nor Set-Cookie, and page sessions carry none of them (W3C WebTransport §3.1), so what
 * needs them is left to the browser itself.
 */
export class VisitorCredentials {
  private seen = false;
  private asked: Promise<void> | undefined;
  private readonly paths = new Set<string>();

  constructor(private readonly sources: CredentialSources) {}

  /** What a request over the page session has to say of them, as far as is known already. */
  known(request: Pick<Request, 'credentials'>): Credentials {
    if (request.credentials === 'omit') return 'omitted';
    return this.seen ? 'withheld' : 'none';
  }

  /**
   * Whether the visitor has none, which takes a round trip: a request that is safe to repeat is on its way meanwhile,
   * and its response is not shown to a page before.
   */
  async areNone(request: Pick<Request, 'destination'>): Promise<boolean> {
    // A log-in at another host of the site may have set cookies since: a new page asks again.
    if (this.asked === undefined || request.destination === 'document') this.asked = this.ask();
    await this.asked;
    this.seen ||= await this.someAreVisible();
    return !this.seen;
  }

  /** Whether the browser itself has to make this request from the start. */
  areNeededFor(request: Pick<Request, 'url' | 'method' | 'credentials'>): boolean {
    if (request.credentials === 'omit') return false;
    // Its response may set cookies, and it must not be sent twice.
    if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'OPTIONS') return true;
    return this.paths.has(new URL(request.url).pathname);
  }

  /** The gateway said so, for this URL. */
  neededFor(url: string): void {
    this.paths.add(new URL(url).pathname);
    const [oldest] = this.paths;
    if (this.paths.size > MAX_PATHS && oldest !== undefined) this.paths.delete(oldest);
    // The response may have been one that sets them.
    this.asked = undefined;
  }

  /** Looks at what the browser loaded itself. */
  observe(response: Response): void {
    if (response.headers.has(CREDENTIALS_HEADER)) this.seen = true;
  }

  private async ask(): Promise<void> {
    if (this.seen) return;
    // Where nobody can be asked nothing is known: then cookies are assumed.
    this.seen = await this.sources.ask().catch(() => true);
  }

  private async someAreVisible(): Promise<boolean> {
    const visible = await this.sources.cookies?.().catch(() => undefined);
    return visible === undefined || visible.length > 0;
  }
}
