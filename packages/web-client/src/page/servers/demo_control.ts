/** What `sheaf demo --site multi-end` says of a backend, whose process it has started. */
export interface DemoBackend {
  readonly number: number;
  readonly name: string;
  readonly process: 'running' | 'starting' | 'stopped';
  /** Of its process. */
  readonly pid?: number;
  /** As the gateway sees it. */
  readonly state: string;
  /** Of the link in front of it. */
  readonly megabitsPerSecond: number;
  readonly delayMs: number;
}

export type BackendAction = 'kill' | 'drain' | 'resume' | 'start';

const RESOURCE = '/demo/backends';
/** Pages of other origins cannot send it without being asked first (CORS), and nobody there would answer. */
const HEADER = 'sheaf-demo';

/** Undefined where no demo serves this page: then there is nobody who could stop a backend. */
export async function fetchBackends(): Promise<readonly DemoBackend[] | undefined> {
  const response = await fetch(RESOURCE, { cache: 'no-store' });
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${RESOURCE}: status ${response.status}`);
  return ((await response.json()) as { backends: DemoBackend[] }).backends;
}

/** @throws Error with what the demo said */
export async function control(name: string, action: BackendAction): Promise<void> {
  const response = await fetch(`${RESOURCE}/${encodeURIComponent(name)}/${action}`, {
    method: 'POST',
    headers: { [HEADER]: '1' },
  });
  if (!response.ok) throw new Error((await response.text()).trim());
}
