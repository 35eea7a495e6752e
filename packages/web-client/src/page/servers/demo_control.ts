/** Report of `sheaf demo --site multi-end` about a backend whose process it has started */
export interface DemoBackend {
  readonly number: number;
  readonly name: string;
  readonly process: 'running' | 'starting' | 'stopped';
  /** Id of its process */
  readonly pid?: number;
  /** State of the backend, as the gateway sees it */
  readonly state: string;
  /** Rate of the link in front of the backend */
  readonly megabitsPerSecond: number;
  readonly delayMs: number;
}

export type BackendAction = 'kill' | 'drain' | 'resume' | 'start';

const RESOURCE = '/demo/backends';
/** Header that pages of other origins cannot send without a preflight request (CORS), which the demo refuses */
const HEADER = 'sheaf-demo';

/** Returns the backends; undefined when no demo serves this page, so that nobody can stop a backend. */
export async function fetchBackends(): Promise<readonly DemoBackend[] | undefined> {
  const response = await fetch(RESOURCE, { cache: 'no-store' });
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${RESOURCE}: status ${response.status}`);
  return ((await response.json()) as { backends: DemoBackend[] }).backends;
}

/** Performs an action on a backend. @throws Error with the demo's message */
export async function control(name: string, action: BackendAction): Promise<void> {
  const response = await fetch(`${RESOURCE}/${encodeURIComponent(name)}/${action}`, {
    method: 'POST',
    headers: { [HEADER]: '1' },
  });
  if (!response.ok) throw new Error((await response.text()).trim());
}
