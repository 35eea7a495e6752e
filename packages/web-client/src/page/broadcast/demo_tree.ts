/** Report of `sheaf demo --site live` */
export interface DemoTree {
  /** URL of the page that publishes */
  readonly studio: string;
  /** URL of the page that watches */
  readonly watch: string;
  readonly tree: {
    readonly cut: boolean;
    /** Share of the packets that it loses, 0 to 1 */
    readonly loss: number;
  };
  /** What the gateway does: receivers are edges. */
  readonly channel?: { readonly receivers: number };
  /** What the edge receives; undefined while it is not there */
  readonly edge?: EdgeReport;
}

/** Counts since the edge was started; those of `EdgeMediaStatus` in packages/gateway/src/observability/status.ts */
export interface EdgeReport {
  readonly state: string;
  readonly fromGroup: number;
  readonly fromUnicast: number;
  readonly recovered: number;
  readonly lost: number;
  readonly expired: number;
  readonly viewers: number;
}

const RESOURCE = '/demo/tree';
/** Header that pages of other origins cannot send without a preflight request (CORS), which the demo refuses */
const HEADER = 'sheaf-demo';

/** Returns the report; undefined when nobody answers. */
export async function fetchTree(): Promise<DemoTree | undefined> {
  try {
    const response = await fetch(RESOURCE, { cache: 'no-store' });
    return response.ok ? ((await response.json()) as DemoTree) : undefined;
  } catch {
    return undefined;
  }
}

/** Cuts the tree, or mends it. @throws Error with the demo's message */
export async function changeTree(action: 'cut' | 'mend'): Promise<void> {
  const response = await fetch(`${RESOURCE}/${action}`, { method: 'POST', headers: { [HEADER]: '1' } });
  if (!response.ok) throw new Error((await response.text()).trim());
}
