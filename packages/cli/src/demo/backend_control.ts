import type { ControlResponse, ControlledDemo } from './page_control.js';

export type BackendAction = 'kill' | 'drain' | 'resume' | 'start';

export interface ControlledSite {
  /** Returns what pages learn about the backends. */
  backends(): object[];
  /** Performs the action. Resolves with false when no backend has the name, and rejects when the action fails. */
  act(name: string, action: BackendAction): Promise<boolean>;
}

/** Lets the page stop and start backends. */
export class BackendControl implements ControlledDemo {
  constructor(private readonly site: ControlledSite) {}

  read(path: string): Promise<object> | undefined {
    return path === '/demo/backends' ? Promise.resolve({ backends: this.site.backends() }) : undefined;
  }

  act(path: string): Promise<ControlResponse> | undefined {
    const [, name, action] = /^\/demo\/backends\/([\w-]+)\/(kill|drain|resume|start)$/.exec(path) ?? [];
    return name === undefined ? undefined : this.#act(name, action as BackendAction);
  }

  async #act(name: string, action: BackendAction): Promise<ControlResponse> {
    if (await this.site.act(name, action)) return { status: 200, text: `${action}: done` };
    return { status: 404, text: `There is no backend ${name}.` };
  }
}
