import { CREDENTIALS_HEADER, type Credentials } from '../protocol/index.js';

/** Bound on the paths that turned out to need credentials. A site has far fewer dynamic pages. */
const MAX_PATHS = 1_000;

export interface CredentialSources {
  /** Asks the gateway whether the browser sends it cookies. @throws TypeError when it cannot be asked */
  ask(): Promise<boolean>;
  /** Returns the cookies of the site that scripts may see; undefined when the browser does not tell. */
  cookies?(): Promise<readonly unknown[]>;
}

/**
 * Tracks whether the visitor has cookies or is logged in. A worker sees neither HttpOnly cookies nor Set-Cookie, and
 * page sessions carry none of them (W3C WebTransport §3.1). So requests that need them are left to the browser itself.
 */
export class VisitorCredentials {
  private seen = false;
  private asked: Promise<void> | undefined;
  private readonly paths = new Set<string>();

  constructor(private readonly sources: CredentialSources) {}

  /** Returns what a request over the page session should say about credentials, as far as is known. */
  known(request: Pick<Request, 'credentials'>): Credentials {
    if (request.credentials === 'omit') return 'omitted';
    return this.seen ? 'withheld' : 'none';
  }

  /**
   * Returns whether the visitor has none, which takes a round trip. A request that is safe to repeat is sent meanwhile,
   * but a page does not see its response before.
   */
  async areNone(request: Pick<Request, 'destination'>): Promise<boolean> {
    // A log-in at another host of the site may have set cookies since then, so a new page asks again.
    if (this.asked === undefined || request.destination === 'document') this.asked = this.ask();
    await this.asked;
    this.seen ||= await this.someAreVisible();
    return !this.seen;
  }

  /** Returns whether the browser itself must make this request from the start. */
  areNeededFor(request: Pick<Request, 'url' | 'method' | 'credentials'>): boolean {
    if (request.credentials === 'omit') return false;
    // The response may set cookies, and the request must not be sent twice.
    if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'OPTIONS') return true;
    return this.paths.has(new URL(request.url).pathname);
  }

  /** Notes that the gateway demanded credentials for this URL. */
  neededFor(url: string): void {
    this.paths.add(new URL(url).pathname);
    const [oldest] = this.paths;
    if (this.paths.size > MAX_PATHS && oldest !== undefined) this.paths.delete(oldest);
    // The response may have set credentials.
    this.asked = undefined;
  }

  /** Inspects a response that the browser loaded itself. */
  observe(response: Response): void {
    if (response.headers.has(CREDENTIALS_HEADER)) this.seen = true;
  }

  private async ask(): Promise<void> {
    if (this.seen) return;
    // If the gateway cannot be asked, assume that there are cookies.
    this.seen = await this.sources.ask().catch(() => true);
  }

  private async someAreVisible(): Promise<boolean> {
    const visible = await this.sources.cookies?.().catch(() => undefined);
    return visible === undefined || visible.length > 0;
  }
}
