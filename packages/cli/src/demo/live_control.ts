import type { ControlResponse, ControlledDemo } from './page_control.js';

/** What the pages of the live demo may see and change */
export interface LiveTreeControl {
  /** Returns what pages learn about the tree, the gateway and the edge. */
  report(): Promise<object>;
  setCut(isCut: boolean): void;
}

/** Lets the page cut the tree and mend it. */
export class LiveControl implements ControlledDemo {
  constructor(private readonly tree: LiveTreeControl) {}

  read(path: string): Promise<object> | undefined {
    return path === '/demo/tree' ? this.tree.report() : undefined;
  }

  act(path: string): Promise<ControlResponse> | undefined {
    const [, action] = /^\/demo\/tree\/(cut|mend)$/.exec(path) ?? [];
    if (action === undefined) return undefined;
    this.tree.setCut(action === 'cut');
    return Promise.resolve({ status: 200, text: `${action}: done` });
  }
}
