/** A network of its own, as the examples in `fixtures` make it. */
export interface NetworkNamespace {
  /** The id of the process that holds it. */
  readonly id: number;
  /** What starts a program in it. */
  readonly enter: string[];
  /** Runs `ip` in it. */
  run(command: string): void;
  /** Resolves when its process has gone. */
  remove(): Promise<void>;
}

interface NetworkNamespaces {
  /** Why this machine has none, or undefined. */
  missing(): string | undefined;
  make(): NetworkNamespace;
}

const home = new URL('../../../../fixtures/namespaces/network_namespace.mjs', import.meta.url);

export const { NetworkNamespace } = (await import(home.href)) as { NetworkNamespace: NetworkNamespaces };
